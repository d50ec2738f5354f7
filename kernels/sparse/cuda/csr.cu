// Sorting of coordinates on the device. A key packs row and column into the fewest bits, so that the radix
// sort makes as few passes as possible: 24 bits (3 passes) for Cora, 36 (5) for a graph of 170,000 nodes. The
// radix sort is stable and deterministic. Temporaries: keys in and out, an iota, and CUB's own.
#include <adjoint/kernels/cuda/cub.cuh>
#include <adjoint/kernels/cuda/launch.cuh>
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/sparse/cuda/csr_entries.cuh>
#include <adjoint/kernels/sparse/cuda/sort.cuh>

namespace adj::kernels::cuda {

namespace {

/// offsets[i] = number of sorted keys below i << shift, for i in [0, rows].
template <class Key>
void row_starts(const char* name, const Key* keys, int64_t n, int shift, Tensor& offsets) {
  const int64_t rows = offsets.numel() - 1;
  int64_t* offset = offsets.mutable_data<int64_t>();
  for_each(name, offsets.device().index, rows + 1, [=] __device__(int64_t i) {
    offset[i] = i == rows ? n : lower_bound(keys, n, static_cast<Key>(i) << shift);
  });
}

template <class Key>
void sort_coordinates(const CooToCsrArgs& args, int64_t rows) {
  const Tensor &row = args.row, &col = args.col;
  const int64_t n = row.numel();
  const Device device = row.device();
  const int col_bits = bits_for(args.cols), bits = bits_for(rows) + col_bits;
  Tensor unsorted = empty_keys<Key>(n, device), sorted = empty_keys<Key>(n, device);
  Tensor numbers = Tensor::empty({n}, DType::i32, device);
  auto* keys = static_cast<Key*>(unsorted.raw_mutable_data());
  auto* sorted_keys = static_cast<Key*>(sorted.raw_mutable_data());
  const int32_t *rows_of = row.data<int32_t>(), *cols_of = col.data<int32_t>();
  int32_t *number = numbers.mutable_data<int32_t>(), *index = args.indices.mutable_data<int32_t>();
  for_each("coo_to_csr", device.index, n, [=] __device__(int64_t e) {
    keys[e] =
        static_cast<Key>(static_cast<uint32_t>(rows_of[e])) << col_bits | static_cast<uint32_t>(cols_of[e]);
    number[e] = static_cast<int32_t>(e);
  });
  sort_pairs<Key>(keys, sorted_keys, number, args.order.mutable_data<int32_t>(), n, bits, device);
  row_starts("coo_to_csr", sorted_keys, n, col_bits, args.offsets);
  const Key mask = static_cast<Key>((Key{1} << col_bits) - 1);
  for_each("coo_to_csr", device.index, n,
           [=] __device__(int64_t e) { index[e] = static_cast<int32_t>(sorted_keys[e] & mask); });
}

// Degrees, diagonals and normalized weights of a structure on the device. A few lanes sum a row, a whole
// block a heavy one, in an order that depends only on the structure; per-entry work is one thread per entry.

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

void coo_to_csr(const CooToCsrArgs& args) {
  const int64_t rows = args.offsets.numel() - 1;
  if (args.row.numel() == 0)
    args.offsets.zero_();
  else if (bits_for(rows) + bits_for(args.cols) <= 31)
    sort_coordinates<uint32_t>(args, rows);
  else
    sort_coordinates<uint64_t>(args, rows);
}

void transpose(const TransposeArgs& args) {
  const int64_t n = args.a.entries();
  if (n == 0) {
    args.offsets.zero_();
    return;
  }
  const Device device = args.a.device();
  Tensor rows = Tensor::empty({n}, DType::i32, device), sorted = empty_keys<uint32_t>(n, device);
  cuda::iota({.y = rows});
  // Columns are non-negative, so they sort as unsigned.
  const auto* columns = static_cast<const uint32_t*>(args.a.indices.raw_data());
  auto* sorted_columns = static_cast<uint32_t*>(sorted.raw_mutable_data());
  sort_pairs<uint32_t>(columns, sorted_columns, rows.data<int32_t>(), args.order.mutable_data<int32_t>(), n,
                       bits_for(args.a.cols), device);
  row_starts<uint32_t>("transpose", sorted_columns, n, 0, args.offsets);
  expand_rows({.a = args.a, .row = rows});
  const int32_t *row = rows.data<int32_t>(), *order = args.order.data<int32_t>();
  int32_t* indices = args.indices.mutable_data<int32_t>();
  for_each("transpose", device.index, n, [=] __device__(int64_t e) { indices[e] = row[order[e]]; });
}

void join_rows(const JoinRowsArgs& args) {
  const int64_t *a = args.a.offsets.data<int64_t>(), *b = args.b.offsets.data<int64_t>();
  const int32_t *a_indices = args.a.indices.data<int32_t>(), *b_indices = args.b.indices.data<int32_t>();
  const int32_t *a_values = args.a_value.data<int32_t>(), *b_values = args.b_value.data<int32_t>();
  int32_t *indices = args.indices.mutable_data<int32_t>(), *values = args.values.mutable_data<int32_t>();
  int64_t* offsets = args.offsets.mutable_data<int64_t>();
  for_each("join_rows", args.a.device().index, args.a.rows + 1,
           [=] __device__(int64_t i) { offsets[i] = a[i] + b[i]; });
  for_each_entry("join_rows", args.a, [=] __device__(int64_t i, int64_t e) {
    indices[e + b[i]] = a_indices[e];
    values[e + b[i]] = a_values[e];
  });
  for_each_entry("join_rows", args.b, [=] __device__(int64_t i, int64_t e) {
    indices[e + a[i + 1]] = b_indices[e];
    values[e + a[i + 1]] = b_values[e];
  });
}

void expand_rows(const ExpandRowsArgs& args) {
  int32_t* out = args.row.mutable_data<int32_t>();
  for_each_entry("expand_rows", args.a,
                 [=] __device__(int64_t i, int64_t e) { out[e] = static_cast<int32_t>(i); });
}

// A binary search per pair, in the ascending row. Bytes: the pairs, their results, and a row's offsets and
// probed columns per pair.
void find_entries(const FindEntriesArgs& args) {
  const int64_t* offsets = args.csr.offsets.data<int64_t>();
  const int32_t *indices = args.csr.indices.data<int32_t>(), *row = args.row.data<int32_t>(),
                *col = args.col.data<int32_t>();
  int32_t* entry = args.entry.mutable_data<int32_t>();
  for_each("find_entries", args.csr.device().index, args.row.numel(), [=] __device__(int64_t k) {
    const int64_t begin = offsets[row[k]], length = offsets[row[k] + 1] - begin;
    const int64_t position = lower_bound(indices + begin, length, col[k]);
    entry[k] = position < length && indices[begin + position] == col[k]
                   ? static_cast<int32_t>(begin + position)
                   : -1;
  });
}

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
  if (!args.known) row_sums({.a = args.a, .y = args.degree});
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
  const bool by_column = static_cast<bool>(args.column_sums);
  Tensor sums = args.column_sums;
  if (!by_column) {
    sums = Tensor::empty({args.a.csr.rows}, DType::f32, args.a.csr.device());
    row_sums({.a = args.a, .y = sums});
  }
  const EntryValues value(args.a);
  const int32_t* columns = args.a.csr.indices.data<int32_t>();
  const float* divisors = sums.data<float>();
  float* out = args.weights.mutable_data<float>();
  for_each_entry("row_normalize_entries", args.a.csr, [=] __device__(int64_t i, int64_t e) {
    const float sum = divisors[by_column ? columns[e] : i];
    out[e] = sum != 0.0f ? value(e) / sum : 0.0f;
  });
}

}  // namespace adj::kernels::cuda
