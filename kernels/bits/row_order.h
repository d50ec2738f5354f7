#pragma once

#include <adjoint/kernels/types/csr.h>

namespace adj {

/// Order in which a GPU sums the rows of a structure: by decreasing number of entries, in groups of four, so
/// that adjacent rows finish together. Rows with more than kMost entries come first and get one block each.
struct RowOrder {
  static constexpr int64_t kMost = 256;
  /// A `row` and its `count` entries from `begin` on, in one load; two dependent loads would stall.
  struct alignas(16) Row {
    int64_t begin;
    int32_t row, count;
  };
  Tensor rows;            ///< int32 [rows, 4], one Row each, on the structure's device
  int64_t long_rows = 0;  ///< number of rows with more than kMost entries

  RowOrder() = default;
  /// Synchronizes with the device. Throws Error if a row has 2^31 entries or more.
  explicit RowOrder(const Csr& csr);
};

}  // namespace adj
