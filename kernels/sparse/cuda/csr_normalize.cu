// Degrees, diagonals and normalized weights of a structure on the device. A few lanes sum a row, a whole
// block a heavy one, in an order that depends only on the structure; per-entry work is one thread per entry.

#include <adjoint/kernels/cuda/cub.cuh>
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>

namespace adj::kernels::cuda {

namespace {

constexpr int kLanes = 8;           // per light row
constexpr int64_t kHeavyRow = 512;  // entries from which a whole block sums a row

/// Value of entry e as defined by CsrMatrix; null for absent tensors.
struct EntryValues {
  const float* values = nullptr;
  const int32_t* order = nullptr;

  explicit EntryValues(const CsrMatrix& a)
      : values(data_or_null<float>(a.values)), order(data_or_null<int32_t>(a.order)) {}
  __device__ float operator()(int64_t e) const {
    return values == nullptr ? 1.0f : values[order == nullptr ? e : order[e]];
  }
};

__global__ void __launch_bounds__(kBlockThreads)
    sum_rows_kernel(const int64_t* offsets, int64_t rows, EntryValues value, float* y) {
  constexpr int kRows = kBlockThreads / kLanes;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
  const int lane = threadIdx.x % kLanes;
  const int64_t i = first + threadIdx.x / kLanes;
  const int64_t begin = i < rows ? offsets[i] : 0, end = i < rows ? offsets[i + 1] : 0;
  const bool heavy = end - begin >= kHeavyRow;
  double sum = 0.0;  // double against cancellation of thousands of values of both signs
  if (!heavy)
    for (int64_t e = begin + lane; e < end; e += kLanes) sum += static_cast<double>(value(e));
  sum = sum_of_lanes<kLanes>(sum);
  if (i < rows && lane == 0 && !heavy) y[i] = static_cast<float>(sum);
  if (!__syncthreads_or(heavy)) return;

  for (int64_t row = first; row < first + kRows && row < rows; ++row) {
    const int64_t row_begin = offsets[row], row_end = offsets[row + 1];
    if (row_end - row_begin < kHeavyRow) continue;
    double mine = 0.0;
    for (int64_t e = row_begin + threadIdx.x; e < row_end; e += kBlockThreads)
      mine += static_cast<double>(value(e));
    mine = sum_of_block(mine);
    if (threadIdx.x == 0) y[row] = static_cast<float>(mine);
  }
}

/// Number of entries of sorted row i before column i.
__device__ int64_t place_of_diagonal(const int64_t* offsets, const int32_t* indices, int64_t i) {
  return lower_bound(indices + offsets[i], offsets[i + 1] - offsets[i], static_cast<int32_t>(i));
}

}  // namespace

void row_sums(const RowSumsArgs& args) {
  const Csr& csr = args.a.csr;
  const int device = csr.device().index;
  if (args.a.values) {
    launch("row_sums", {.device = device, .blocks = blocks_for(csr.rows * kLanes)}, sum_rows_kernel,
           csr.offsets.data<int64_t>(), csr.rows, EntryValues(args.a), args.y.mutable_data<float>());
  } else {
    const int64_t* offsets = csr.offsets.data<int64_t>();
    float* y = args.y.mutable_data<float>();
    for_each("row_sums", device, csr.rows,
             [=] __device__(int64_t i) { y[i] = static_cast<float>(offsets[i + 1] - offsets[i]); });
  }
}

void csr_to_dense(const CsrToDenseArgs& args) {
  const Csr& csr = args.a.csr;
  args.y.zero_();
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int32_t* indices = csr.indices.data<int32_t>();
  const int64_t cols = csr.cols;
  const EntryValues value(args.a);
  float* y = args.y.mutable_data<float>();
  // One thread per row, so that duplicates are summed in order.
  for_each("csr_to_dense", csr.device().index, csr.rows, [=] __device__(int64_t i) {
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) y[i * cols + indices[e]] += value(e);
  });
}

void diagonal_offsets(const DiagonalOffsetsArgs& args) {
  const int device = args.a.device().index;
  const int64_t rows = args.a.rows;
  const int64_t* offsets = args.a.offsets.data<int64_t>();
  const int32_t* indices = args.a.indices.data<int32_t>();
  int64_t* sums = args.offsets.mutable_data<int64_t>();
  for_each("diagonal_offsets", device, rows + 1, [=] __device__(int64_t i) {
    if (i == rows) {
      sums[i] = 0;
      return;
    }
    const int64_t position = offsets[i] + place_of_diagonal(offsets, indices, i);
    sums[i] = position < offsets[i + 1] && indices[position] == static_cast<int32_t>(i) ? 0 : 1;
  });
  exclusive_sum(sums, rows + 1, args.a.device());
  for_each("diagonal_offsets", device, rows + 1, [=] __device__(int64_t i) { sums[i] += offsets[i]; });
}

void insert_diagonal(const InsertDiagonalArgs& args) {
  const float fill = args.fill;
  const Csr& csr = args.a.csr;
  const int64_t *source_offsets = csr.offsets.data<int64_t>(), *target_offsets = args.offsets.data<int64_t>();
  const int32_t* columns = csr.indices.data<int32_t>();
  int32_t* to_columns = args.indices.mutable_data<int32_t>();
  float* to_values = args.values.mutable_data<float>();
  for_each("insert_diagonal", csr.device().index, csr.rows, [=] __device__(int64_t i) {
    if (target_offsets[i + 1] - target_offsets[i] == source_offsets[i + 1] - source_offsets[i]) return;
    const int64_t position = target_offsets[i] + place_of_diagonal(source_offsets, columns, i);
    to_columns[position] = static_cast<int32_t>(i);
    to_values[position] = fill;
  });
  const EntryValues value(args.a);
  for_each_entry("insert_diagonal", csr, [=] __device__(int64_t i, int64_t e) {
    const bool missing =
        target_offsets[i + 1] - target_offsets[i] != source_offsets[i + 1] - source_offsets[i];
    const int32_t column = columns[e];
    const int64_t position = target_offsets[i] + (e - source_offsets[i]) + (missing && column > i ? 1 : 0);
    to_columns[position] = column;
    to_values[position] = value(e);
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
