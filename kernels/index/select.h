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

/// flags[k] = 1 where the pair (a[k], b[k]) passes, else 0; all int32 [K].
struct FlagPairsArgs {
  PairTest test;
  const Tensor& a;
  const Tensor& b;
  Tensor& flags;

  Device device() const { return a.device(); }
  void check() const {
    check_index("flag_pairs", "a", a, a.device());
    check_like("flag_pairs", "b", b, a);
    check_like("flag_pairs", "flags", flags, a);
  }
};
ADJ_KERNEL(flag_pairs, FlagPairsArgs)

/// Where `flags` (int32 [K], 0 or 1) are set: the places, ascending, fill the front of `positions` (int32
/// [K]; what stands behind them is not written), and `count` (one int64) says how many they are.
struct SelectFlaggedArgs {
  const Tensor& flags;
  Tensor& positions;
  Tensor& count;

  Device device() const { return flags.device(); }
  void check() const {
    check_index("select_flagged", "flags", flags, flags.device());
    check_like("select_flagged", "positions", positions, flags);
    check_scalar("select_flagged", "count", count, DType::i64, flags.device());
  }
};
ADJ_KERNEL(select_flagged, SelectFlaggedArgs)

}  // namespace adj::kernels
