#pragma once

#include <adjoint/graph/relation.h>

#include <vector>

namespace adj {

struct RowTiles;
namespace kernels {
struct TileValues;
}

/// A sparse matrix with values: a weighted adjacency or sparse features. A cheap handle.
class SparseMatrix {
 public:
  SparseMatrix() = default;
  /// `values` float [entries] by the relation's edge numbers (for a CSR: in its order); absent: ones.
  explicit SparseMatrix(Relation relation, Tensor values = {});
  /// This rank's rows of a matrix over Relation::rank_part(), with the values of its rows of the transpose.
  SparseMatrix(Relation part, Tensor values, Tensor adjoint_values);
  /// Copies host arrays: offsets [rows + 1], the columns of a row in any order, which are sorted; no
  /// `values`: ones. Throws if inconsistent.
  static SparseMatrix from_csr(int64_t rows, int64_t cols, const std::vector<int64_t>& offsets,
                               const std::vector<int32_t>& indices, const std::vector<float>& values);

  explicit operator bool() const { return static_cast<bool>(relation_); }  ///< false if default-constructed
  const Relation& relation() const { return relation_; }  ///< the structure; rows are its targets
  const Tensor& values() const { return values_; }
  int64_t rows() const { return relation_.num_dst(); }       ///< number of the relation's targets
  int64_t cols() const { return relation_.num_src(); }       ///< number of its sources
  int64_t entries() const { return relation_.num_edges(); }  ///< stored ones; parallel ones all count
  Device device() const { return relation_.device(); }       ///< of structure and values

  /// The matrix and its transpose for kernels. The views borrow from this object. The transpose of a matrix
  /// with a kept adjoint throws if the values were changed in place since.
  CsrMatrix matrix() const { return relation_.matrix(values_); }
  CsrMatrix adjoint() const;  ///< the transpose, [cols, rows]
  /// The same structure with other values, without factors or a kept adjoint.
  SparseMatrix with_values(Tensor values) const { return SparseMatrix(relation_, std::move(values)); }
  /// The matrix for products with dense features of `dtype`: values in float64 for float64 (gradient checks),
  /// else unchanged (accumulation is in float32).
  SparseMatrix for_features(DType dtype) const;
  /// Declares that values[e] = row[i] column[j] for each entry (i, j), with factors float32 [rows] and
  /// [cols]; an absent factor is ones. Valid until the values are modified.
  void set_factors(Tensor row, Tensor column);
  /// True if all values are such products, or 1.
  bool has_factors() const {
    return !values_ || ((row_factor_ || column_factor_) && values_.version() == factored_version_);
  }
  /// The values of matrix() or adjoint() in the order of a cut, with their factors if any. Cached until the
  /// values are modified; a captured step that was not run eagerly before recomputes them at each replay.
  kernels::TileValues tile_values(const RowTiles& tiles, bool of_adjoint, DType features) const;
  bool has_kept_adjoint() const { return static_cast<bool>(adjoint_values_); }  ///< by keep_adjoint()
  /// Stores the values in transposed order once, for a matrix that is used step after step; `self_adjoint`:
  /// the matrix equals its transpose, and one copy serves both. Call again after changing the values in
  /// place.
  void keep_adjoint(bool self_adjoint = false);

  /// Includes everything its relation has derived (Relation::to).
  SparseMatrix to(Device device) const;
  /// float32 [rows, cols]; parallel entries add up.
  Tensor to_dense() const;
  /// Each row divided by its sum; rows with sum 0 stay 0. Entries are numbered in CSR order.
  SparseMatrix row_normalized() const;

 private:
  friend struct detail::CarrierAccess;
  SparseMatrix carried_to(detail::Carrier& carrier) const;

  void check_kept() const;

  Relation relation_;
  Tensor values_;
  Tensor adjoint_values_;
  struct KeptTileValues;
  std::shared_ptr<KeptTileValues> tile_values_;  // null without values
  Tensor row_factor_, column_factor_;
  uint64_t factored_version_ = 0;  // version of the values at set_factors()
  bool self_adjoint_ = false;
  uint64_t kept_version_ = 0;  // version of the values at keep_adjoint()
};

namespace detail {
/// Sorts the entries of each row by column, equal columns in their order; on the CPU. `values` float32
/// [entries] or absent.
void sort_rows(Csr& csr, Tensor& values);
}  // namespace detail

}  // namespace adj
