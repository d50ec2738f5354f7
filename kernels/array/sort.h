#pragma once

#include <adjoint/kernels/kernel.h>

#include <limits>

namespace adj::kernels {

/// The first K columns of each row of x[R,N] in ascending or descending order: `indices` int32 [R,K] in the
/// row, and `positions` int32 [R K] in x. Equal numbers stay in their order, ±0 are equal, and NaN is the
/// largest number.
struct SortRowsArgs {
  const Tensor& x;
  bool descending = false;
  Tensor& indices;
  Tensor& positions;

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    ADJ_CHECK(x.numel() <= std::numeric_limits<int32_t>::max(),
              "{}: x is {}, expected fewer than 2^31 elements", op, x.str());
    ADJ_CHECK(indices && indices.dims() == 2 && indices.size(1) <= x.size(1),
              "{}: indices are {}, expected at most {} columns", op, indices.str(), x.size(1));
    check_tensor(op, "indices", indices, {x.size(0), indices.size(1)}, DType::i32, x.device());
    check_tensor(op, "positions", positions, {indices.numel()}, DType::i32, x.device());
  }
};
ADJ_KERNEL(sort_rows, SortRowsArgs)  ///< Order of each row's numbers.

namespace detail {

/// An unsigned number in the order of `value`: NaN is the largest, ±0 are equal. Inverted for descending.
ADJ_HOST_DEVICE inline uint32_t sort_key(float value, bool descending) {
  const auto raw = std::bit_cast<uint32_t>(value == 0.0f ? 0.0f : value);
  const uint32_t key = value != value ? ~uint32_t{0} : raw >> 31 != 0 ? ~raw : raw | uint32_t{1} << 31;
  return descending ? ~key : key;
}
ADJ_HOST_DEVICE inline uint64_t sort_key(double value, bool descending) {
  const auto raw = std::bit_cast<uint64_t>(value == 0.0 ? 0.0 : value);
  const uint64_t key = value != value ? ~uint64_t{0} : raw >> 63 != 0 ? ~raw : raw | uint64_t{1} << 63;
  return descending ? ~key : key;
}

}  // namespace detail
}  // namespace adj::kernels
