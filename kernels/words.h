#pragma once

#include <adjoint/core/dtype.h>

namespace adj::kernels::detail {

/// Calls `f.template operator()<Word>()` with the unsigned type of the dtype's size: for what copies
/// elements.
template <class F>
void dispatch_word(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 8:
      return f.template operator()<uint64_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 2:
      return f.template operator()<uint16_t>();
    default:
      return f.template operator()<uint8_t>();
  }
}

}  // namespace adj::kernels::detail
