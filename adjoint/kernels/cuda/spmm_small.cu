// SpMM of structures so small (a citation graph, its bag-of-words features) that the longest chain of
// dependent reads is the time. A warp takes a row, its entries spread over as many groups of lanes as the
// width leaves, each group summing every k-th entry with four reads in flight; the groups' sums are added in
// a fixed tree. Rows longer than a warp should walk are then summed by all warps of the block together, their
// sums added in the warps' order.

#include "spmm_device.cuh"
#include "spmm_small.h"

#include <bit>

namespace adj::kernels::cuda {

namespace {

constexpr int kWarps = 8;
constexpr int64_t kMostEntries = int64_t{1} << 17;
constexpr int kMostLanes = 16;  // of a group: width 64 in packs of 4
constexpr int kLongRow = 16;    // entries of each group from which the block takes the row
constexpr int kInFlight = 4;
constexpr double kLeakySlope = 0.01;

template <int kVector>
__device__ void add_pack(Pack<float, kVector>& sum, const Pack<float, kVector>& other) {
#pragma unroll
  for (int v = 0; v < kVector; ++v) sum[v] += other[v];
}

/// Σ over entries first, first + step, … before end.
template <int kVector>
__device__ Pack<float, kVector> sum_entries(const SpmmArguments<float>& a, const char* x, int first, int end,
                                            int step) {
  Pack<float, kVector> sum{};
  for (int e = first; e < end; e += kInFlight * step) {
    int32_t column[kInFlight];
    float weight[kInFlight];
    Pack<float, kVector> row[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int at = min(e + u * step, end - 1);
      column[u] = __ldg(a.indices + at);
      weight[u] =
          a.values == nullptr ? 1.0f : __ldg(a.values + (a.order == nullptr ? at : __ldg(a.order + at)));
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u)
      row[u] = gather_pack<float, kVector>(row_address(x, column[u], a.pitch));
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      if (e + u * step >= end) break;
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[v] = fmaf(weight[u], row[u][v], sum[v]);
    }
  }
  return sum;
}

/// The groups' sums of a warp, added in a tree; every group is left with the whole.
template <int kVector, int kLanes>
__device__ void add_groups(Pack<float, kVector>& sum) {
#pragma unroll
  for (int step = kLanes; step < 32; step *= 2) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] += __shfl_xor_sync(0xffffffffu, sum[v], step);
  }
}

template <int kVector, int kLanes>
__global__ void __launch_bounds__(32 * kWarps)
    small_spmm_kernel(int rows, const __grid_constant__ SpmmArguments<float> a) {
  adj::cuda::begin_overlapping();
  constexpr int kGroups = 32 / kLanes;
  __shared__ Pack<float, kVector> partial[kWarps][kLanes];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % kLanes, group = threadIdx.x % 32 / kLanes;
  const int first_row = static_cast<int>(blockIdx.x) * kWarps, row = first_row + warp;
  const int feature = lane * kVector;
  const bool valid = feature < a.width;
  // A lane beyond the width reads along with the first one and writes nothing.
  const char* const x = reinterpret_cast<const char*>(a.x + (valid ? feature : 0));

  const auto write = [&](int to, Pack<float, kVector> sum) {
    if (!valid || group != 0) return;
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] = finish(a, sum[v], feature + v);
    adj::cuda::store(a.y + static_cast<int64_t>(to) * a.width + feature, sum);
  };
  const auto is_long = [](int length) { return length > kLongRow * kGroups; };

  const int begin = row < rows ? static_cast<int>(a.offsets[row]) : 0;
  const int end = row < rows ? static_cast<int>(a.offsets[row + 1]) : 0;
  const bool is_cut = is_long(end - begin);
  if (row < rows && !is_cut) {
    Pack<float, kVector> sum = sum_entries<kVector>(a, x, begin + group, end, kGroups);
    add_groups<kVector, kLanes>(sum);
    write(row, sum);
  }
  if (!__syncthreads_or(is_cut)) return;

  for (int r = first_row; r < first_row + kWarps && r < rows; ++r) {
    const int from = static_cast<int>(a.offsets[r]), to = static_cast<int>(a.offsets[r + 1]);
    if (!is_long(to - from)) continue;
    Pack<float, kVector> sum =
        sum_entries<kVector>(a, x, from + warp * kGroups + group, to, kWarps * kGroups);
    add_groups<kVector, kLanes>(sum);
    if (group == 0) partial[warp][lane] = sum;
    __syncthreads();
    if (warp == 0) {
#pragma unroll
      for (int w = 1; w < kWarps; ++w) add_pack(sum, partial[w][lane]);
      write(r, sum);
    }
    __syncthreads();
  }
}

/// Features that a lane owns: rows of other widths, and views that begin anywhere, are read one by one.
int pack_of(const Tensor& x, const Tensor& y) {
  return x.size(1) % 4 == 0 && adj::cuda::aligned_to_16(x.data<float>(), y.data<float>()) ? 4 : 1;
}

template <int kVector>
void launch_small(int lanes, int device, int64_t rows, const SpmmArguments<float>& arguments) {
  const auto go = [&](auto kernel) {
    adj::cuda::launch("spmm",
                      {.device = device,
                       .blocks = static_cast<unsigned>(adj::cuda::ceil_div(rows, kWarps)),
                       .threads = 32 * kWarps,
                       .overlaps = true},
                      kernel, static_cast<int>(rows), arguments);
  };
  switch (lanes) {
    case 1:
      return go(small_spmm_kernel<kVector, 1>);
    case 2:
      return go(small_spmm_kernel<kVector, 2>);
    case 4:
      return go(small_spmm_kernel<kVector, 4>);
    case 8:
      return go(small_spmm_kernel<kVector, 8>);
    default:
      return go(small_spmm_kernel<kVector, 16>);
  }
}

}  // namespace

bool is_small_spmm(const Csr& a, const Tensor& x, const Tensor& y) {
  if (x.dtype() != DType::f32 || a.entries() > kMostEntries || a.rows > kMostEntries) return false;
  const int64_t width = x.size(1);
  return width >= 1 && width <= kMostLanes * pack_of(x, y);
}

void small_spmm(const CsrMatrix& a, const Tensor& x, const Tensor& bias, Activation activation, Tensor& y) {
  const int64_t width = x.size(1);
  SpmmArguments<float> arguments{};
  arguments.offsets = a.csr.offsets.data<int64_t>();
  arguments.indices = a.csr.indices.data<int32_t>();
  if (a.values) arguments.values = a.values.data<float>();
  if (a.order) arguments.order = a.order.data<int32_t>();
  arguments.x = x.data<float>();
  arguments.y = y.mutable_data<float>();
  arguments.width = static_cast<int>(width);
  arguments.pitch = static_cast<uint32_t>(width * static_cast<int64_t>(sizeof(float)));
  arguments.activation = activation;
  if (bias) arguments.bias = bias.data<float>();
  arguments.slope = static_cast<float>(kLeakySlope);
  const int pack = pack_of(x, y);
  const int lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(width / pack)));
  const auto launch = pack == 4 ? launch_small<4> : launch_small<1>;
  launch(lanes, a.csr.device().index, a.csr.rows, arguments);
}

}  // namespace adj::kernels::cuda
