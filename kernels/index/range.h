#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// position (one element, int64) = the first k with index[k] outside [0, limit), or the length of `index`
/// where there is none. `index` is [M] int32 or int64.
struct FirstOutsideArgs {
  const Tensor& index;
  int64_t limit;
  Tensor& position;

  Device device() const { return index.device(); }
  void check() const {
    ADJ_CHECK(index && index.dims() == 1 && (index.dtype() == DType::i32 || index.dtype() == DType::i64),
              "first_outside: index is {}, expected [M] int32 or int64", index.str());
    check_scalar("first_outside", "position", position, DType::i64, index.device());
  }
};
ADJ_KERNEL(first_outside, FirstOutsideArgs)

}  // namespace adj::kernels
