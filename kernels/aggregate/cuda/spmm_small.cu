// SpMM of structures so small (a citation graph, its bag-of-words features) that the longest chain of
// dependent reads determines the time. A warp takes 16 features of a row; the remaining lanes form groups,
// each summing every k-th entry with four reads in flight; the groups' sums are added in a fixed tree. Rows
// too long for one warp are then summed by all warps of the block together, and their sums are added in the
// warps' order.

#include <adjoint/kernels/aggregate/cuda/spmm_device.cuh>
#include <adjoint/kernels/aggregate/cuda/strategies.h>
#include <adjoint/kernels/plan/spmm_method.h>

namespace adj::kernels::cuda {

namespace {

constexpr int kWarps = 8;
constexpr int kMostLanes = plan::kSmallLanes;  // per group
constexpr int kLongRow = 8;                    // entries per group from which the block takes the row
constexpr int kInFlight = 4;

template <int kVector>
__device__ void add_pack(Pack<float, kVector>& sum, const Pack<float, kVector>& other) {
#pragma unroll
  for (int v = 0; v < kVector; ++v) sum[v] += other[v];
}

/// A pack of x, in one read if rows of the tensor are aligned to it.
template <int kVector, bool kAligned>
__device__ Pack<float, kVector> read_pack(const char* source) {
  if constexpr (kAligned) {
    return gather_pack<float, kVector>(source);
  } else {
    Pack<float, kVector> pack;
#pragma unroll
    for (int v = 0; v < kVector; ++v) pack[v] = __ldg(reinterpret_cast<const float*>(source) + v);
    return pack;
  }
}

/// Σ over entries first, first + step, … before end, in this order.
template <int kVector, bool kAligned>
__device__ Pack<float, kVector> sum_entries(const SpmmArguments<float>& a, const char* x, int first, int end,
                                            int step) {
  Pack<float, kVector> sum{};
  for (int e = first; e < end; e += kInFlight * step) {
    int32_t column[kInFlight];
    float weight[kInFlight];
    Pack<float, kVector> row[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int entry = min(e + u * step, end - 1);
      column[u] = __ldg(a.indices + entry);
      weight[u] = a.values == nullptr
                      ? 1.0f
                      : __ldg(a.values + (a.order == nullptr ? entry : __ldg(a.order + entry)));
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u)
      row[u] = read_pack<kVector, kAligned>(row_address(x, column[u], a.pitch));
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      if (e + u * step >= end) break;
#pragma unroll
      for (int v = 0; v < kVector; ++v) sum[v] = fmaf(weight[u], row[u][v], sum[v]);
    }
  }
  return sum;
}

/// Tree sum over the groups of a warp; every group has the result.
template <int kVector, int kLanes>
__device__ void add_groups(Pack<float, kVector>& sum) {
#pragma unroll
  for (int step = kLanes; step < 32; step *= 2) {
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] += __shfl_xor_sync(0xffffffffu, sum[v], step);
  }
}

template <int kVector, int kLanes, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    small_spmm_kernel(int rows, int block_rows, const __grid_constant__ SpmmArguments<float> a) {
  begin_overlapping();
  constexpr int kGroups = 32 / kLanes;
  __shared__ Pack<float, kVector> partial[kWarps][kLanes];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % kLanes, group = threadIdx.x % 32 / kLanes;
  const int first_row = static_cast<int>(blockIdx.x) * block_rows;
  const int end_row = min(first_row + block_rows, rows), row = first_row + warp;
  const int feature = (static_cast<int>(blockIdx.y) * kLanes + lane) * kVector;
  const bool valid = feature < a.width;
  // A lane beyond the width reads the same as the first lane and writes nothing.
  const char* const x = reinterpret_cast<const char*>(a.x + (valid ? feature : 0));

  const auto write = [&](int target, Pack<float, kVector> sum) {
    if (!valid || group != 0) return;
#pragma unroll
    for (int v = 0; v < kVector; ++v) sum[v] = finish(a, target, sum[v], feature + v);
    float* const y = a.y + static_cast<int64_t>(target) * a.width + feature;
    if constexpr (kAligned) {
      store(y, sum);
    } else {
#pragma unroll
      for (int v = 0; v < kVector; ++v) y[v] = sum[v];
    }
  };
  const auto is_long = [](int length) { return length > kLongRow * kGroups; };

  const int begin = row < end_row ? static_cast<int>(a.offsets[row]) : 0;
  const int end = row < end_row ? static_cast<int>(a.offsets[row + 1]) : 0;
  const bool is_cut = is_long(end - begin);
  if (row < end_row && !is_cut) {
    Pack<float, kVector> sum = sum_entries<kVector, kAligned>(a, x, begin + group, end, kGroups);
    add_groups<kVector, kLanes>(sum);
    write(row, sum);
  }
  if (!__syncthreads_or(is_cut)) return;

  for (int r = first_row; r < end_row; ++r) {
    const int long_begin = static_cast<int>(a.offsets[r]), long_end = static_cast<int>(a.offsets[r + 1]);
    if (!is_long(long_end - long_begin)) continue;
    Pack<float, kVector> sum =
        sum_entries<kVector, kAligned>(a, x, long_begin + warp * kGroups + group, long_end, kWarps * kGroups);
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

/// Rows per block: few if they are long, since a block takes its long rows one after the other.
int block_rows_of(const Csr& a) { return a.entries() >= 24 * a.rows ? 2 : kWarps; }

template <int kVector, bool kAligned>
void launch_small(const Csr& a, const SpmmArguments<float>& arguments) {
  const int packs = arguments.width / kVector;
  const auto slabs = static_cast<unsigned>(ceil_div(packs, kMostLanes));
  const int rows = block_rows_of(a);
  const auto go = [&](auto kernel) {
    launch("spmm", overlapping(a.device().index, grid(ceil_div(a.rows, rows), slabs), 32 * kWarps), kernel,
           static_cast<int>(a.rows), rows, arguments);
  };
  if (packs == 1) return go(small_spmm_kernel<kVector, 1, kAligned>);
  if (packs == 2) return go(small_spmm_kernel<kVector, 2, kAligned>);
  go(small_spmm_kernel<kVector, kMostLanes, kAligned>);
}

}  // namespace

void small_spmm(const SpmmArgs& args) {
  const CsrMatrix& a = args.a;
  const Tensor& x = args.x;
  const int64_t width = x.size(1);
  SpmmArguments<float> arguments{};
  arguments.offsets = a.csr.offsets.data<int64_t>();
  arguments.indices = a.csr.indices.data<int32_t>();
  if (a.values) arguments.values = a.values.data<float>();
  if (a.order) arguments.order = a.order.data<int32_t>();
  arguments.x = x.data<float>();
  arguments.y = args.y.mutable_data<float>();
  arguments.width = static_cast<int>(width);
  arguments.pitch = static_cast<uint32_t>(width * static_cast<int64_t>(sizeof(float)));
  arguments.relu = args.activation == Activation::relu;
  arguments.factor = data_or_null<float>(args.row_factor);
  arguments.bias = data_or_null<float>(args.bias);
  if (plan::small_pack(width) == 1) return launch_small<1, true>(a.csr, arguments);
  const bool aligned = aligned_to_16(x.data<float>(), static_cast<const float*>(arguments.y));
  aligned ? launch_small<4, true>(a.csr, arguments) : launch_small<4, false>(a.csr, arguments);
}

}  // namespace adj::kernels::cuda
