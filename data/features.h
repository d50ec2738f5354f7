#pragma once

#include <adjoint/graph/sparse_matrix.h>

namespace adj {

/// Node features [N, F]: dense, or sparse where most are zero (bag-of-words).
class Features {
 public:
  Features() = default;
  explicit Features(Tensor dense) : dense_(std::move(dense)) {}
  Features(SparseMatrix sparse) : sparse_(std::move(sparse)) {}

  explicit operator bool() const { return dense_ || sparse_; }
  bool is_sparse() const { return static_cast<bool>(sparse_); }
  /// Throws where the features are of the other kind.
  const Tensor& dense() const;
  const SparseMatrix& sparse() const;
  int64_t rows() const;
  int64_t cols() const;
  Device device() const;
  Features to(Device device) const;
  /// As they are multiplied with weights of that dtype: dense ones converted, sparse ones with float32 values
  /// for bfloat16.
  Features to(DType dtype) const;
  Tensor to_dense() const;
  /// Row k is row index[k], of the same kind; `index` int32 [K] on their device, repeats allowed. Sparse ones
  /// on the CPU alone. Throws for an index out of range (on a GPU not).
  Features rows(const Tensor& index) const;
  /// Each row divided by its sum (Kipf & Welling 2017); rows whose sum is 0 stay as they are. On their
  /// device.
  Features row_normalized() const;

 private:
  Tensor dense_;
  SparseMatrix sparse_;
};

}  // namespace adj
