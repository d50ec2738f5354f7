#pragma once

#include <adjoint/graph/relation.h>

#include <vector>

namespace adj {

struct RowTiles;
namespace kernels {
struct TileValues;
}

/// A sparse matrix with values: an adjacency with weights, or sparse features. A cheap handle.
class SparseMatrix {
 public:
  SparseMatrix() = default;
  /// `values` float [entries] by the relation's edge numbers (of a CSR: in its order), or absent: all ones.
  explicit SparseMatrix(Relation relation, Tensor values = {});
  /// Copies host arrays: offsets [rows + 1], ascending columns within each row; no `values`: all ones. Throws
  /// where they are inconsistent.
  static SparseMatrix from_csr(int64_t rows, int64_t cols, const std::vector<int64_t>& offsets,
                               const std::vector<int32_t>& indices, const std::vector<float>& values);

  explicit operator bool() const { return static_cast<bool>(relation_); }
  const Relation& relation() const { return relation_; }
  const Tensor& values() const { return values_; }
  int64_t rows() const { return relation_.num_dst(); }
  int64_t cols() const { return relation_.num_src(); }
  int64_t entries() const { return relation_.num_edges(); }
  Device device() const { return relation_.device(); }

  /// The matrix, and its transpose, as kernels take them. The views borrow from this object. The transpose of
  /// a matrix that keeps its adjoint throws where the values were changed in place since.
  CsrMatrix matrix() const { return relation_.matrix(values_); }
  CsrMatrix adjoint() const;
  /// The same structure with other values.
  SparseMatrix with_values(Tensor values) const { return SparseMatrix(relation_, std::move(values)); }
  /// The matrix as it is multiplied with dense features of `dtype`: its values in float64 for float64
  /// (gradient checks), as they are for all else (accumulation is float32).
  SparseMatrix for_features(DType dtype) const {
    return values_ && dtype == DType::f64 && values_.dtype() != dtype ? with_values(values_.to(dtype))
                                                                      : *this;
  }
  /// Says that values[e] = row[i] column[j] for each entry (i, j), with factors float32 [rows] and [cols],
  /// either absent: ones. Holds until the values are written to.
  void set_factors(Tensor row, Tensor column);
  /// Are all values such products, or 1?
  bool has_factors() const {
    return !values_ || ((row_factor_ || column_factor_) && values_.version() == factored_version_);
  }
  /// The values of matrix(), or of adjoint(), in the order of a cut of its structure; their factors where it
  /// has any. Kept until the values are written to, but where a step is recorded that has not been run
  /// before: there they are made at each replay.
  kernels::TileValues tile_values(const RowTiles& tiles, bool of_adjoint, DType features) const;
  /// Copies the values into the transposed order once, for a matrix that is used step after step;
  /// `self_adjoint` says that the matrix equals its transpose, so that one copy serves both. To be called
  /// again after the values were changed in place.
  void keep_adjoint(bool self_adjoint = false);

  /// With what its relation derived (Relation::to).
  SparseMatrix to(Device device) const;
  SparseMatrix carried_to(detail::Carrier& carrier) const;
  /// float32 [rows, cols]; parallel entries add up.
  Tensor to_dense() const;
  /// Each row divided by its sum; rows whose sum is 0 stay 0. Its entries are numbered as the CSR has them.
  SparseMatrix row_normalized() const;

 private:
  void check_kept() const;

  Relation relation_;
  Tensor values_;
  Tensor adjoint_values_;
  struct KeptTileValues;
  std::shared_ptr<KeptTileValues> tile_values_;  // null without values
  Tensor row_factor_, column_factor_;
  uint64_t factored_version_ = 0;  // of the values, when set_factors() was called
  bool self_adjoint_ = false;
  uint64_t kept_version_ = 0;  // of the values, when keep_adjoint() saw them
};

}  // namespace adj
