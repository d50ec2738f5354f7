#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/elementwise/packed_rows.h>

namespace adj {

/// Node features [N, F]: dense; sparse where most are zero (bag-of-words); or quantised, of 1 to 8 bits a
/// number, which are what their bits stand for.
class Features {
 public:
  Features() = default;
  explicit Features(Tensor dense) : dense_(std::move(dense)) {}
  Features(SparseMatrix sparse) : sparse_(std::move(sparse)) {}
  explicit Features(PackedRows quantized) : quantized_(std::move(quantized)) {}

  explicit operator bool() const { return dense_ || sparse_ || quantized_.bytes; }
  bool is_dense() const { return static_cast<bool>(dense_); }
  bool is_sparse() const { return static_cast<bool>(sparse_); }
  bool is_quantized() const { return static_cast<bool>(quantized_.bytes); }
  /// Throws where the features are of another kind.
  const Tensor& dense() const;
  const SparseMatrix& sparse() const;
  const PackedRows& quantized() const;
  int64_t rows() const;
  int64_t cols() const;
  Device device() const;
  /// Bytes that they are held in.
  int64_t bytes() const;
  Features to(Device device) const;
  /// As they are multiplied with weights of that dtype: dense ones converted, sparse ones with float32 values
  /// for bfloat16, quantised ones as they are.
  Features to(DType dtype) const;
  /// All of them, of quantised ones what the bits stand for, float32.
  Tensor to_dense() const;
  /// Rows [begin, end) of quantised ones, [end - begin, F] of `dtype`, after the dropout that waits.
  Tensor unpacked(int64_t begin, int64_t end, DType dtype) const;
  /// Row k is row index[k], of the same kind; `index` int32 [K] on their device, repeats allowed. Sparse ones
  /// on the CPU alone. Throws for an index out of range (on a GPU not), and for rows whose dropout waits.
  Features rows(const Tensor& index) const;
  /// Each row divided by its sum (Kipf & Welling 2017); rows whose sum is 0 stay as they are. On their
  /// device. Throws for quantised ones, whose ranges it would leave: rows are divided before.
  Features row_normalized() const;
  /// Quantised ones, of which numbers are to be dropped: the mask is drawn as rows are unpacked, so that no
  /// dense matrix is held. Once: throws where a dropout waits already.
  Features dropped(const RandomKey& key, const DropoutRule& rule) const;

 private:
  const char* kind() const;

  Tensor dense_;
  SparseMatrix sparse_;
  PackedRows quantized_;
  RandomKey dropout_key_;     // of quantised ones
  DropoutRule dropout_rule_;  // likewise
};

}  // namespace adj
