#pragma once

#include <adjoint/kernels/kernel.h>

#include <cstdint>

namespace adj::kernels {

/// y[k] = k, int32 [K].
struct IotaArgs {
  Tensor& y;

  Device device() const { return y.device(); }
  void check() const { check_index("iota", "y", y, y.device()); }
};
ADJ_KERNEL(iota, IotaArgs)

/// What is asked of a pair of int32.
enum class PairTest : uint8_t {
  differ,        ///< a[k] != b[k]
  both_present,  ///< a[k] >= 0 and b[k] >= 0
  both_absent,   ///< a[k] < 0 and b[k] < 0
  begins_run,    ///< k = 0, or the pair is another one than at k - 1
};

/// Where the pair (a[k], b[k]) passes, both int32 [K]: the places k, ascending, fill the front of `positions`
/// (int32 [K]; what stands behind them is not written), and `count` (one int64) says how many they are.
struct SelectPairsArgs {
  PairTest test;
  const Tensor& a;
  const Tensor& b;
  Tensor& positions;
  Tensor& count;

  Device device() const { return a.device(); }
  void check() const {
    check_index("select_pairs", "a", a, a.device());
    check_like("select_pairs", "b", b, a);
    check_like("select_pairs", "positions", positions, a);
    check_scalar("select_pairs", "count", count, DType::i64, a.device());
  }
};
ADJ_KERNEL(select_pairs, SelectPairsArgs)

}  // namespace adj::kernels
