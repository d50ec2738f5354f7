#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// Rows that a device can read where they are, wherever that is: its own memory, or the host's that is locked
/// for it (core/pinned.h).
struct RowsInPlace {
  const void* data = nullptr;
  int64_t rows = 0;
  bool on_host = false;  ///< a GPU reads them over its bus, and lists those it wants first (8 bytes each)
};

/// y[K,F]: row k is row at[k] of `hot` [C,F] where at[k] >= 0, and else row -1 - at[k] of `cold`, which has
/// rows of as many bytes: features of which those most often asked for are kept on the device. `at` int32 [K]
/// (range-checked on the CPU). Any dtype.
struct GatherCachedArgs {
  const Tensor& hot;
  RowsInPlace cold;
  const Tensor& at;
  Tensor& y;

  Device device() const { return hot.device(); }
  void check() const {
    ADJ_CHECK(hot && hot.dims() == 2, "gather_cached: hot is {}, expected a matrix", hot.str());
    ADJ_CHECK(cold.rows == 0 || cold.data != nullptr, "gather_cached: no data behind {} cold rows",
              cold.rows);
    check_index("gather_cached", "at", at, hot.device());
    check_tensor("gather_cached", "y", y, {at.numel(), hot.size(1)}, hot.dtype(), hot.device());
  }
};
ADJ_KERNEL(gather_cached, GatherCachedArgs)

}  // namespace adj::kernels
