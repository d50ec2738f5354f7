#pragma once

#include <adjoint/kernels/bits/byte_tensor.h>
#include <adjoint/kernels/bits/row_order.h>

#include <optional>

namespace adj {

/// What an IntegerModel sums over: the entries, all ones, of each row of a matrix.
struct IntegerRows {
  Csr structure;                  ///< without arrays where `bits` stand for it
  RowOrder order;                 ///< of `structure`
  Tensor row_scale;               ///< float32 [rows]: 1 / entries of the row, or absent: a sum
  std::optional<BitTensor> bits;  ///< one an entry
  std::optional<BitSteps> steps;  ///< of `bits`, those that have one

  int64_t rows() const { return structure.rows; }
};

/// A graph and its features as an IntegerModel takes them: structure, and features of as many bits as the
/// first layer reads.
struct IntegerBatch {
  IntegerRows neighbors;              ///< of each node, with the self-loops that the model sums over
  std::optional<IntegerRows> graphs;  ///< the nodes of each, of a model of graphs
  BitTensor x_bits;                   ///< along columns: where neighbours are summed by bits
  ByteTensor x;                       ///< where they are summed by bytes

  int64_t nodes() const { return neighbors.rows(); }
  bool by_bits() const { return neighbors.bits.has_value(); }
  Device device() const { return by_bits() ? x_bits.device() : x.device(); }
  /// Bytes of structure and features.
  int64_t bytes() const;
  /// What the host packed goes to a GPU as one copy, where it is small, with as many bits of a feature as the
  /// first layer reads (of 3 bits 4, of 5 to 7 bits 8; QGTC, section 4.6).
  IntegerBatch to(Device device) const;
};

}  // namespace adj
