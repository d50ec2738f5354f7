#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// Rows that a device can read in place: in its own memory, or in page-locked host memory (core/pinned.h).
struct RowsInPlace {
  const void* data = nullptr;  ///< of the first row; null only without rows
  int64_t rows = 0;            ///< their number; they lie without gaps
  bool on_host = false;  ///< a GPU reads them over the bus, after listing the rows it needs (8 bytes each)
};

/// Gather with a hot-row cache on the device. y[K,F]: row k is row at[k] of `hot` [C,F] if at[k] >= 0, else
/// row -1 - at[k] of `cold`, whose rows have the same number of bytes. `at` int32 [K] (range-checked on the
/// CPU). Any dtype.
struct GatherCachedArgs {
  const Tensor& hot;
  RowsInPlace cold;
  const Tensor& at;
  Tensor& y;

  void check(std::string_view op) const {
    ADJ_CHECK(hot && hot.dims() == 2, "{}: hot is {}, expected a matrix", op, hot.str());
    ADJ_CHECK(cold.rows == 0 || cold.data != nullptr, "{}: no data for {} cold rows", op, cold.rows);
    check_index(op, "at", at, hot.device());
    check_tensor(op, "y", y, {at.numel(), hot.size(1)}, hot.dtype(), hot.device());
  }
};
ADJ_KERNEL(gather_cached, GatherCachedArgs)  ///< Rows by index from two stores.

}  // namespace adj::kernels
