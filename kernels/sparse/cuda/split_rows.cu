// A warp takes a row: it counts its types in shared memory, 32 entries at a time, and then places them in
// order. The entries are read twice, the second time from a cache.
#include <adjoint/core/cuda/fault.h>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/sparse/split_rows.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kWarps = kBlockThreads / 32;
constexpr unsigned kAll = 0xffffffffu;

struct Split {
  const int64_t* begins;
  const int32_t *columns, *type, *order;
  int64_t rows;
  int types, width;
  bool loops;
  Fault outside;
  int64_t* offsets;
  int32_t* indices;

  /// Of an entry, -1 beyond the row; one out of range counts as 0, so that no place stays unwritten.
  __device__ int type_of(int64_t e, int64_t end) const {
    if (e >= end) return -1;
    const int64_t edge = order == nullptr ? e : order[e];
    const int32_t t = type[edge];
    if (t >= 0 && t < types) return t;
    raise(outside, edge, t, types);
    return 0;
  }
};

__global__ void __launch_bounds__(kBlockThreads) split_rows_kernel(Split s) {
  begin_overlapping();
  __shared__ int next[kWarps][kMostSplitTypes];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t row = int64_t{blockIdx.x} * kWarps + warp;
  if (row >= s.rows) return;
  int* const places = next[warp];
  for (int t = lane; t < s.width; t += 32) places[t] = 0;
  __syncwarp();
  const int64_t begin = s.begins[row], end = s.begins[row + 1];
  // The lanes of one type: its first lane adds for all.
  const auto add = [&](int t, unsigned lanes) {
    if (t >= 0 && lane == __ffs(static_cast<int>(lanes)) - 1) places[t] += __popc(lanes);
  };
  for (int64_t base = begin; base < end; base += 32) {
    const int t = s.type_of(base + lane, end);
    add(t, __match_any_sync(kAll, t));
    __syncwarp();
  }
  const int64_t first = begin + (s.loops ? row : 0);
  if (lane == 0) {
    int place = 0;
    for (int t = 0; t < s.width; ++t) {
      const int count = places[t];
      places[t] = place;
      place += count;
    }
    if (s.loops) s.indices[first + place] = static_cast<int32_t>(row);
    if (row + 1 == s.rows) s.offsets[s.rows * s.width] = first + place + (s.loops ? 1 : 0);
  }
  __syncwarp();
  for (int t = lane; t < s.width; t += 32) s.offsets[row * s.width + t] = first + places[t];
  __syncwarp();
  for (int64_t base = begin; base < end; base += 32) {
    const int t = s.type_of(base + lane, end);
    const unsigned lanes = __match_any_sync(kAll, t), before = (1u << lane) - 1u;
    if (t >= 0) s.indices[first + places[t] + __popc(lanes & before)] = s.columns[base + lane];
    __syncwarp();
    add(t, lanes);
    __syncwarp();
  }
}

}  // namespace

void split_rows(const SplitRowsArgs& args) {
  const Device device = args.a.device();
  if (args.a.rows == 0) return args.offsets.zero_();
  launch("split_rows", overlapping(device.index, grid(ceil_div(args.a.rows, int64_t{kWarps})), kBlockThreads),
         split_rows_kernel,
         Split{args.a.offsets.data<int64_t>(), args.a.indices.data<int32_t>(), args.type.data<int32_t>(),
               data_or_null<int32_t>(args.order), args.a.rows, static_cast<int>(args.types),
               static_cast<int>(args.width()), args.loops, fault_of(device.index, "split_rows", "type"),
               args.offsets.mutable_data<int64_t>(), args.indices.mutable_data<int32_t>()});
}

}  // namespace adj::kernels::cuda
