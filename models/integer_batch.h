#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/bits/row_order.h>
#include <adjoint/kernels/types/byte_tensor.h>

#include <optional>

namespace adj {

/// Rows of a matrix over which an IntegerModel sums; all entries are ones.
struct IntegerRows {
  Csr structure;                  ///< without arrays if `bits` are used
  RowOrder order;                 ///< of `structure`
  Tensor row_scale;               ///< float32 [rows]: 1 / entries of the row; absent: a sum
  std::optional<BitTensor> bits;  ///< one bit per entry
  std::optional<BitSteps> steps;  ///< the nonzero steps of `bits`

  int64_t rows() const { return structure.rows; }  ///< nodes that sum, or pooled graphs
};

/// A graph and its features in an IntegerModel's format: structure, and features with the first layer's input
/// bits.
struct IntegerBatch {
  IntegerRows neighbors;              ///< of each node, including the self-loops of the model
  std::optional<IntegerRows> graphs;  ///< the nodes of each graph, for a model of graphs
  BitTensor x_bits;                   ///< along columns; for sums by bits
  ByteTensor x;                       ///< for sums by bytes

  int64_t nodes() const { return neighbors.rows(); }                          ///< of all graphs together
  bool by_bits() const { return neighbors.bits.has_value(); }                 ///< has `x_bits`, else `x`
  Device device() const { return by_bits() ? x_bits.device() : x.device(); }  ///< of all tensors
  /// Size of structure and features in bytes.
  int64_t bytes() const;
  /// Small host batches go to a GPU in a single copy. Features have the first layer's input bits, rounded up
  /// (3 to 4, 5 to 7 to 8; QGTC, section 4.6).
  IntegerBatch to(Device device) const;
};

}  // namespace adj
