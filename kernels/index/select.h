#pragma once

#include <adjoint/kernels/kernel.h>

#include <cstdint>

namespace adj::kernels {

/// y[k] = k, int32 [K].
struct IotaArgs {
  Tensor& y;

  void check(std::string_view op) const { check_index(op, "y", y, y.device()); }
};
ADJ_KERNEL(iota, IotaArgs)  ///< 0, 1, 2 and so on.

/// Predicate on a pair of int32.
enum class PairTest : uint8_t {
  differ,        ///< a[k] != b[k]
  both_present,  ///< a[k] >= 0 and b[k] >= 0
  both_absent,   ///< a[k] < 0 and b[k] < 0
  ascends,       ///< a[k] <= b[k]
  begins_run,    ///< k = 0, or the pair differs from that at k - 1
};

/// Stream compaction by the predicate `test` on the pairs (a[k], b[k]), both int32 [K]: the matching k,
/// ascending, fill the front of `positions` (int32 [K]; the rest is not written), and `count` (one int64) is
/// their number.
struct SelectPairsArgs {
  PairTest test;
  const Tensor& a;
  const Tensor& b;
  Tensor& positions;
  Tensor& count;

  void check(std::string_view op) const {
    check_index(op, "a", a, a.device());
    check_like(op, {{"b", b}, {"positions", positions}}, a);
    check_scalar(op, "count", count, DType::i64, a.device());
  }
};
ADJ_KERNEL(select_pairs, SelectPairsArgs)  ///< Positions of the pairs that pass a test.

/// position (one int64) = the first k with index[k] outside [0, limit), or the length of `index` if there is
/// none. `index` is [M] int32 or int64.
struct FirstOutsideArgs {
  const Tensor& index;
  int64_t limit;
  Tensor& position;

  Device device() const { return index.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    ADJ_CHECK(index && index.dims() == 1 && (index.dtype() == DType::i32 || index.dtype() == DType::i64),
              "{}: index is {}, expected [M] int32 or int64", op, index.str());
    check_scalar(op, "position", position, DType::i64, index.device());
  }
};
ADJ_KERNEL(first_outside, FirstOutsideArgs)  ///< First index out of range.

}  // namespace adj::kernels
