#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj {

/// The order in which a GPU sums the rows of a structure: by falling number of entries, in fours, so that
/// rows side by side end together. Rows of more than kMost entries, the first ones, have a block each.
struct RowOrder {
  static constexpr int64_t kMost = 256;
  /// Of a row, its entries: one load, where two after each other would be waited for.
  struct alignas(16) Row {
    int64_t begin;
    int32_t row, count;
  };
  Tensor rows;  ///< int32 [rows, 4], a Row each, on the structure's device
  int64_t long_rows = 0;

  RowOrder() = default;
  /// Waits for the device. Throws Error where a row has 2^31 entries or more.
  explicit RowOrder(const Csr& csr);
};

}  // namespace adj
