#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/types/packed_rows.h>

#include <memory>
#include <vector>

namespace adj {

/// Nodes of several types (GraphSchema), each with features of its own or none: all of them by number, or
/// those of a batch, sorted by type.
struct TypedFeatures {
  std::vector<Tensor> x;        ///< by type: [n, F] of its n rows; absent for a type without features
  std::vector<int64_t> counts;  ///< by type: n
  Device device = {};           ///< of all tensors
  Tensor types = {};            ///< int32 [rows]: the type of each node, optional
  Tensor numbers = {};          ///< of a batch, int32 [rows]: which of its type's nodes each row is
  Tensor order = {};            ///< of a batch, int32 [rows]: its node k is row order[k]
  Tensor joint = {};            ///< of a batch, int32 [rows]: its node k among all nodes
  bool distinct = false;        ///< no node of a batch has two rows

  bool whole() const { return !order; }  ///< all nodes by number
  int64_t rows() const;                  ///< of all types
  int64_t first_row(size_t type) const;  ///< of a type among them
};

/// Node features [N, F]: dense; sparse, if most entries are zero (bag-of-words); quantised to 1 to 8 bits
/// per number, whose values are those that the bits encode; or of several types of nodes.
class Features {
 public:
  Features() = default;
  explicit Features(TypedFeatures typed) : typed_(std::make_shared<const TypedFeatures>(std::move(typed))) {}
  explicit Features(Tensor dense) : dense_(std::move(dense)) {}
  Features(SparseMatrix sparse) : sparse_(std::move(sparse)) {}
  explicit Features(PackedRows quantized) : quantized_(std::move(quantized)) {}

  explicit operator bool() const {
    return dense_ || sparse_ || quantized_.bytes || typed_;
  }                                                                          ///< absent: false
  bool is_dense() const { return static_cast<bool>(dense_); }                ///< dense() may be called
  bool is_sparse() const { return static_cast<bool>(sparse_); }              ///< sparse() may be called
  bool is_quantized() const { return static_cast<bool>(quantized_.bytes); }  ///< quantized() may be called
  bool is_typed() const { return typed_ != nullptr; }                        ///< typed() may be called
  /// Throws for another kind of features.
  const Tensor& dense() const;
  const SparseMatrix& sparse() const;
  const PackedRows& quantized() const;  ///< also with a pending dropout, which it does not show
  const TypedFeatures& typed() const;   ///< likewise
  int64_t rows() const;
  int64_t cols()
      const;  ///< F, of several types the sum of theirs; like rows() and device() throws for absent features
  Device device() const;  ///< of their tensors
  /// Bytes in memory.
  int64_t bytes() const;
  Features to(Device device) const;
  /// Converted for products with weights of `dtype`: dense ones are cast, sparse ones have float32 values for
  /// bfloat16, quantised ones are unchanged.
  Features to(DType dtype) const;
  /// All rows as float32; quantised ones dequantised.
  Tensor to_dense() const;
  /// Rows [begin, end) of quantised features, [end - begin, F] of `dtype`, with the pending dropout applied.
  Tensor unpacked(int64_t begin, int64_t end, DType dtype) const;
  /// Gather: row k is row index[k], of the same kind; `index` int32 [K] on the features' device, repeats
  /// allowed. Sparse features: CPU only; of several types: of a whole() only; it waits for the device.
  /// Throws for an index out of range (CPU only), and for features with a pending dropout.
  Features rows(const Tensor& index) const;
  /// Each row divided by its sum (Kipf & Welling 2017), on their device; rows with sum 0 are unchanged.
  /// Throws for quantised features, whose range it would leave: normalise before quantising.
  Features row_normalized() const;
  /// Quantised features with a pending dropout: the mask is drawn as rows are unpacked, so that no dense
  /// matrix is stored. Throws if a dropout is already pending.
  Features dropped(const RandomKey& key, const DropoutRule& rule) const;

 private:
  const char* kind() const;

  Tensor dense_;
  SparseMatrix sparse_;
  PackedRows quantized_;
  std::shared_ptr<const TypedFeatures> typed_;
  RandomKey dropout_key_;     // for quantised ones
  DropoutRule dropout_rule_;  // same
};

}  // namespace adj
