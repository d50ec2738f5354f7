#pragma once

#include <adjoint/kernels/kernel.h>

#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>

namespace adj {

/// What kernels derive from one sparse structure and keep with it: balanced row ranges, degree buckets,
/// library descriptors. Found by the type of what is kept; made once, on first demand.
class CsrCache {
 public:
  template <class T, class Make>
  std::shared_ptr<T> get(Make&& make) {
    const std::lock_guard lock(mutex_);
    auto& slot = slots_[std::type_index(typeid(T))];
    if (!slot) slot = std::shared_ptr<T>(make());
    return std::static_pointer_cast<T>(slot);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> slots_;
};

/// Compressed sparse rows: the structure of a [rows, cols] matrix, without values. For a graph, row i holds
/// the sources of the in-edges of target i. Entries of a row stand in ascending column order; equal ones are
/// allowed.
struct Csr {
  int64_t rows = 0;
  int64_t cols = 0;
  Tensor offsets;  ///< int64 [rows + 1]; entries of row i are [offsets[i], offsets[i + 1])
  Tensor indices;  ///< int32 [entries]: columns
  std::shared_ptr<CsrCache> cache = std::make_shared<CsrCache>();

  int64_t entries() const { return indices.numel(); }
  Device device() const { return offsets.device(); }
  Csr to(Device device) const;
};

/// A sparse matrix as kernels take it: structure and values. Entry e has the value values[order[e]] where
/// `order` (int32) is present, values[e] where it is absent, and 1 where `values` is absent too. `order` lets
/// a transposed structure use the values of the original one without a copy.
struct CsrMatrix {
  const Csr& csr;
  Tensor values;
  Tensor order;
};

namespace kernels {

/// Sorts a coordinate list by (row, column), stably. `row`, `col`: int32 [M] in range. Outputs: offsets int64
/// [rows + 1], indices int32 [M], order int32 [M]: entry e of the result is coordinate order[e].
ADJ_KERNEL(void, coo_to_csr, const Tensor& row, const Tensor& col, int64_t cols, Tensor& offsets,
           Tensor& indices, Tensor& order)
/// The transposed structure, stable: offsets int64 [cols + 1], indices int32 [M], order int32 [M]: entry e of
/// the transposed structure is entry order[e] of `a`.
ADJ_KERNEL(void, transpose, const Csr& a, Tensor& offsets, Tensor& indices, Tensor& order)
/// row[e] int32 [M] = the row of entry e.
ADJ_KERNEL(void, expand_rows, const Csr& a, Tensor& row)
/// y[rows] float32 = Σ of the row's values (their number where there are none).
ADJ_KERNEL(void, row_sums, const CsrMatrix& a, Tensor& y)
/// Row offsets of `a` (square) with a diagonal entry added to every row that has none: offsets int64 [rows +
/// 1].
ADJ_KERNEL(void, diagonal_offsets, const Csr& a, Tensor& offsets)
/// Fills that structure: indices int32, values float32 [offsets[rows]]: a's entries and, for rows without a
/// diagonal entry, `fill` at its sorted place.
ADJ_KERNEL(void, insert_diagonal, const CsrMatrix& a, float fill, const Tensor& offsets, Tensor& indices,
           Tensor& values)
/// weights[e] = values[e] / sqrt(d_i d_j) with d the row sums (GCN eq. 2, Kipf & Welling 2017); 0 where d_i
/// or d_j is not positive. `degree` float32 [rows] is also an output. `weights` may be the values. One launch
/// or two.
ADJ_KERNEL(void, gcn_normalize, const CsrMatrix& a, Tensor& degree, Tensor& weights)
/// weights[e] = values[e] / d_i; rows whose sum is 0 stay 0.
ADJ_KERNEL(void, row_normalize_entries, const CsrMatrix& a, Tensor& weights)

}  // namespace kernels
}  // namespace adj
