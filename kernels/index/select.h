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

/// Inverse of an index: number[index[k]] = k for `index` int32 [K] in [-1, N), skipping -1; -1 for values not
/// in `index`; `number` int32 [N]. For a permutation it is the inverse permutation. Of duplicates the first
/// counts, and `repeated` (one int64) is the smallest k that repeats an earlier one (K if there is none).
struct RenumberArgs {
  const Tensor& index;
  Tensor& number;
  Tensor& repeated;

  Device device() const { return index.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_index(op, {{"index", index}, {"number", number}}, index.device());
    check_scalar(op, "repeated", repeated, DType::i64, index.device());
  }
};
ADJ_KERNEL(renumber, RenumberArgs)  ///< Inverse of an index.

/// Position of each of [0, limit) in `ids`, int32 [limit]: -1 if absent.
inline Tensor inverse_of(const Tensor& ids, int64_t limit) {
  Tensor number = Tensor::empty({limit}, DType::i32, ids.device()),
         repeated = Tensor::empty({}, DType::i64, ids.device());
  renumber({.index = ids, .number = number, .repeated = repeated});
  return number;
}

/// low[k] = min(a[k], b[k]), high[k] = max(a[k], b[k]); all int32 [K].
struct OrderPairsArgs {
  const Tensor& a;
  const Tensor& b;
  Tensor& low;
  Tensor& high;

  void check(std::string_view op) const {
    check_index(op, "a", a, a.device());
    check_like(op, {{"b", b}, {"low", low}, {"high", high}}, a);
  }
};
ADJ_KERNEL(order_pairs, OrderPairsArgs)  ///< Smaller and larger number of each pair.

/// Which range a number is in: range[k] = t with bounds[t] <= index[k] < bounds[t + 1], and place[k] =
/// index[k] - bounds[t]. All int32, [K] and `bounds` [T + 1], ascending from 0, of which the last exceeds
/// every index.
struct FindRangesArgs {
  const Tensor& index;
  const Tensor& bounds;
  Tensor& range;
  Tensor& place;

  Device device() const { return index.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_index(op, {{"index", index}, {"bounds", bounds}}, index.device());
    check_like(op, {{"range", range}, {"place", place}}, index);
    ADJ_CHECK(bounds.numel() >= 2, "{}: bounds are {}, expected two or more", op, bounds.str());
  }
};
ADJ_KERNEL(find_ranges, FindRangesArgs)  ///< The range that each number is in.

namespace detail {
/// The last t with bounds[t] <= value.
ADJ_HOST_DEVICE inline int32_t range_of(const int32_t* bounds, int32_t ranges, int32_t value) {
  int32_t low = 0, high = ranges;
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    (bounds[middle] <= value ? low : high) = middle;
  }
  return low;
}
}  // namespace detail

/// y[r, :] = sum (or mean) of x[order[k], :] for k in [starts[r], starts[r + 1]) (to the end of `order` for
/// the last r): x [M,E], y [R,E] float32 or float64, `starts` int32 [R] ascending from 0, `order` int32 [K].
/// Accumulated in order, in float64: bitwise identical on every device.
struct MergeRunsArgs {
  bool mean;
  const Tensor& x;
  const Tensor& order;
  const Tensor& starts;
  Tensor& y;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_index(op, {{"order", order}, {"starts", starts}}, x.device());
    check_tensor(op, "y", y, {starts.numel(), x.size(1)}, x.dtype(), x.device());
  }
};
ADJ_KERNEL(merge_runs, MergeRunsArgs)  ///< Sums or means of runs of rows.

}  // namespace adj::kernels
