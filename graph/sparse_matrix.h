#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <memory>
#include <vector>

namespace adj {

/// The structure of a sparse matrix with its adjoint at hand: CSR and, made once on first demand, the
/// transposed CSR and the permutation between their entries. Where the structure equals its transpose, the
/// two share their arrays and what kernels keep with them. Immutable; shared by all matrices with this
/// structure; thread-safe.
class SparsePattern {
 public:
  /// `symmetric`: the caller knows that the structure equals its transpose; otherwise it is found on demand.
  explicit SparsePattern(Csr csr, bool symmetric = false);

  const Csr& csr() const { return csr_; }
  const Csr& transposed() const;
  /// int32 [entries]: entry e of transposed() is entry order()[e] of csr().
  const Tensor& order() const;
  /// True if the structure (values aside) equals its transpose, the number of parallel entries included.
  bool symmetric() const;
  int64_t rows() const { return csr_.rows; }
  int64_t cols() const { return csr_.cols; }
  int64_t entries() const { return csr_.entries(); }

 private:
  void transpose() const;

  Csr csr_;
  bool known_symmetric_;
  mutable std::once_flag once_;
  mutable bool found_symmetric_ = false;
  mutable Csr transposed_;
  mutable Tensor order_;
};

/// A sparse matrix with values: an adjacency with weights, or sparse features. A cheap handle.
class SparseMatrix {
 public:
  SparseMatrix() = default;
  /// `values` float [entries] in CSR order, or absent: all ones.
  explicit SparseMatrix(std::shared_ptr<const SparsePattern> pattern, Tensor values = {});
  /// Copies host arrays: offsets [rows + 1], ascending columns within each row; no `values`: all ones. Throws
  /// where they are inconsistent.
  static SparseMatrix from_csr(int64_t rows, int64_t cols, const std::vector<int64_t>& offsets,
                               const std::vector<int32_t>& indices, const std::vector<float>& values);

  explicit operator bool() const { return pattern_ != nullptr; }
  const std::shared_ptr<const SparsePattern>& pattern() const { return pattern_; }
  const Tensor& values() const { return values_; }
  int64_t rows() const { return pattern_->rows(); }
  int64_t cols() const { return pattern_->cols(); }
  int64_t entries() const { return pattern_->entries(); }
  Device device() const { return pattern_->csr().device(); }

  /// The matrix, and its transpose, as kernels take them. The views borrow from this object.
  CsrMatrix matrix() const { return {pattern_->csr(), values_, {}}; }
  CsrMatrix adjoint() const;
  /// The same structure with other values.
  SparseMatrix with_values(Tensor values) const { return SparseMatrix(pattern_, std::move(values)); }
  /// Copies the values into the transposed order once, for a matrix that is used step after step;
  /// `self_adjoint` says that the matrix equals its transpose, so that one copy serves both.
  void keep_adjoint(bool self_adjoint = false);

  /// The matrix as it is multiplied with dense features of `dtype`: its values in float64 for float64
  /// (gradient checks), as they are for all else (accumulation is float32).
  SparseMatrix for_features(DType dtype) const {
    return values_ && dtype == DType::f64 && values_.dtype() != dtype ? with_values(values_.to(dtype))
                                                                      : *this;
  }

  SparseMatrix to(Device device) const;
  /// float32 [rows, cols]; parallel entries add up.
  Tensor to_dense() const;
  /// Each row divided by its sum; rows whose sum is 0 stay 0.
  SparseMatrix row_normalized() const;

 private:
  std::shared_ptr<const SparsePattern> pattern_;
  Tensor values_;
  Tensor adjoint_values_;
  bool self_adjoint_ = false;
};

}  // namespace adj
