// Degrees, diagonals and normalized weights of a structure on the device. A few lanes sum a row, a whole
// block a heavy one, in an order that depends on the structure alone; per-entry work is one thread per entry.

#include <adjoint/core/cuda/launch.cuh>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>

#include <cub/device/device_scan.cuh>

namespace adj::kernels::cuda {

namespace {

using adj::cuda::blocks_for;
using adj::cuda::launch;

constexpr int kThreads = adj::cuda::kBlockThreads;
constexpr int kLanes = 8;           // per light row
constexpr int64_t kHeavyRow = 512;  // entries from which a whole block sums a row

/// Value of entry e as defined by CsrMatrix; null for absent tensors.
struct EntryValues {
  const float* values = nullptr;
  const int32_t* order = nullptr;

  explicit EntryValues(const CsrMatrix& a)
      : values(a.values ? a.values.data<float>() : nullptr),
        order(a.values && a.order ? a.order.data<int32_t>() : nullptr) {}
  __device__ float operator()(int64_t e) const {
    return values == nullptr ? 1.0f : values[order == nullptr ? e : order[e]];
  }
};

template <int kWidth>
__device__ double sum_lanes(double value, unsigned mask) {
#pragma unroll
  for (int step = kWidth / 2; step > 0; step /= 2) value += __shfl_xor_sync(mask, value, step, kWidth);
  return value;
}

__global__ void __launch_bounds__(kThreads)
    sum_rows_kernel(const int64_t* offsets, int64_t rows, EntryValues value, float* y) {
  constexpr int kRows = kThreads / kLanes;
  __shared__ double partial[kThreads / 32];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
  const int lane = threadIdx.x % kLanes;
  const int64_t i = first + threadIdx.x / kLanes;
  const int64_t begin = i < rows ? offsets[i] : 0, end = i < rows ? offsets[i + 1] : 0;
  const bool heavy = end - begin >= kHeavyRow;
  double sum = 0.0;  // double against cancellation of thousands of values of both signs
  if (!heavy)
    for (int64_t e = begin + lane; e < end; e += kLanes) sum += static_cast<double>(value(e));
  sum = sum_lanes<kLanes>(sum, 0xffffffffu);
  if (i < rows && lane == 0 && !heavy) y[i] = static_cast<float>(sum);
  if (!__syncthreads_or(heavy)) return;

  for (int64_t row = first; row < first + kRows && row < rows; ++row) {
    const int64_t row_begin = offsets[row], row_end = offsets[row + 1];
    if (row_end - row_begin < kHeavyRow) continue;
    double mine = 0.0;
    for (int64_t e = row_begin + threadIdx.x; e < row_end; e += kThreads)
      mine += static_cast<double>(value(e));
    mine = sum_lanes<32>(mine, 0xffffffffu);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
      double total = 0.0;
      for (int w = 0; w < kThreads / 32; ++w) total += partial[w];
      y[row] = static_cast<float>(total);
    }
    __syncthreads();
  }
}

__global__ void row_lengths(const int64_t* offsets, int64_t rows, float* y) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < rows) y[i] = static_cast<float>(offsets[i + 1] - offsets[i]);
}

__global__ void missing_diagonals(const int64_t* offsets, const int32_t* indices, int64_t rows,
                                  int64_t* missing) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i > rows) return;
  if (i == rows) {
    missing[i] = 0;
    return;
  }
  const int64_t begin = offsets[i], length = offsets[i + 1] - begin;
  const int64_t at = lower_bound(indices + begin, length, static_cast<int32_t>(i));
  missing[i] = at < length && indices[begin + at] == static_cast<int32_t>(i) ? 0 : 1;
}

__global__ void add_offsets(const int64_t* offsets, int64_t rows, int64_t* sums) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i <= rows) sums[i] += offsets[i];
}

__global__ void place_diagonals(const int64_t* offsets, const int32_t* indices, int64_t rows,
                                const int64_t* to_offsets, float fill, int32_t* to_indices,
                                float* to_values) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows) return;
  const int64_t begin = offsets[i], length = offsets[i + 1] - begin, to = to_offsets[i];
  if (to_offsets[i + 1] - to == length) return;
  const int64_t at = to + lower_bound(indices + begin, length, static_cast<int32_t>(i));
  to_indices[at] = static_cast<int32_t>(i);
  to_values[at] = fill;
}

// One thread per row, so that duplicates are summed in order.
__global__ void add_entries(const int64_t* offsets, const int32_t* indices, int64_t rows, int64_t cols,
                            EntryValues value, float* y) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows) return;
  for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) y[i * cols + indices[e]] += value(e);
}

}  // namespace

void row_sums(const RowSumsArgs& args) {
  const Csr& csr = args.a.csr;
  const int device = csr.device().index;
  if (args.a.values) {
    launch("row_sums", {.device = device, .blocks = blocks_for(csr.rows * kLanes)}, sum_rows_kernel,
           csr.offsets.data<int64_t>(), csr.rows, EntryValues(args.a), args.y.mutable_data<float>());
  } else {
    launch("row_sums", {.device = device, .blocks = blocks_for(csr.rows)}, row_lengths,
           csr.offsets.data<int64_t>(), csr.rows, args.y.mutable_data<float>());
  }
}

void csr_to_dense(const CsrToDenseArgs& args) {
  const Csr& csr = args.a.csr;
  args.y.zero_();
  launch("csr_to_dense", {.device = csr.device().index, .blocks = blocks_for(csr.rows)}, add_entries,
         csr.offsets.data<int64_t>(), csr.indices.data<int32_t>(), csr.rows, csr.cols, EntryValues(args.a),
         args.y.mutable_data<float>());
}

void diagonal_offsets(const DiagonalOffsetsArgs& args) {
  const int device = args.a.device().index;
  const int64_t n = args.a.rows + 1;
  int64_t* sums = args.offsets.mutable_data<int64_t>();
  launch("diagonal_offsets", {.device = device, .blocks = blocks_for(n)}, missing_diagonals,
         args.a.offsets.data<int64_t>(), args.a.indices.data<int32_t>(), args.a.rows, sums);
  const cudaStream_t stream = adj::cuda::current_stream(device);
  size_t bytes = 0;
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, sums, sums, n, stream));
  Tensor workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, args.a.device());
  ADJ_CUDA_CHECK(cub::DeviceScan::ExclusiveSum(workspace.raw_mutable_data(), bytes, sums, sums, n, stream));
  launch("diagonal_offsets", {.device = device, .blocks = blocks_for(n)}, add_offsets,
         args.a.offsets.data<int64_t>(), args.a.rows, sums);
}

void insert_diagonal(const InsertDiagonalArgs& args) {
  const float fill = args.fill;
  const Csr& csr = args.a.csr;
  const int64_t *from = csr.offsets.data<int64_t>(), *to = args.offsets.data<int64_t>();
  const int32_t* columns = csr.indices.data<int32_t>();
  int32_t* to_columns = args.indices.mutable_data<int32_t>();
  float* to_values = args.values.mutable_data<float>();
  launch("insert_diagonal", {.device = csr.device().index, .blocks = blocks_for(csr.rows)}, place_diagonals,
         from, columns, csr.rows, to, fill, to_columns, to_values);
  const EntryValues value(args.a);
  for_each_entry("insert_diagonal", csr, [=] __device__(int64_t i, int64_t e) {
    const bool missing = to[i + 1] - to[i] != from[i + 1] - from[i];
    const int32_t column = columns[e];
    const int64_t at = to[i] + (e - from[i]) + (missing && column > i ? 1 : 0);
    to_columns[at] = column;
    to_values[at] = value(e);
  });
}

void gcn_normalize(const GcnNormalizeArgs& args) {
  row_sums({.a = args.a, .y = args.degree});
  const EntryValues value(args.a);
  const int32_t* columns = args.a.csr.indices.data<int32_t>();
  const float* degrees = args.degree.data<float>();
  float* out = args.weights.mutable_data<float>();
  for_each_entry("gcn_normalize", args.a.csr, [=] __device__(int64_t i, int64_t e) {
    const float di = degrees[i], dj = degrees[columns[e]];
    out[e] = di <= 0.0f || dj <= 0.0f ? 0.0f : value(e) / (sqrtf(di) * sqrtf(dj));  // NaN propagates
  });
}

void row_normalize_entries(const RowNormalizeEntriesArgs& args) {
  Tensor sums = Tensor::empty({args.a.csr.rows}, DType::f32, args.a.csr.device());
  row_sums({.a = args.a, .y = sums});
  const EntryValues value(args.a);
  const float* row_sum = sums.data<float>();
  float* out = args.weights.mutable_data<float>();
  for_each_entry("row_normalize_entries", args.a.csr, [=] __device__(int64_t i, int64_t e) {
    const float sum = row_sum[i];
    out[e] = sum != 0.0f ? value(e) / sum : 0.0f;
  });
}

}  // namespace adj::kernels::cuda
