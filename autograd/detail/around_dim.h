#pragma once

#include <adjoint/core/shape.h>

#include <string_view>

namespace adj::detail {

/// Shape of a tensor around one dimension: `outer` blocks of `extent` slices of `inner` elements.
struct AroundDim {
  int dim = 0;  // non-negative
  int64_t outer = 1, extent = 1, inner = 1;

  /// A negative `dim` counts from the end. Throws naming `op`.
  AroundDim(std::string_view op, const Shape& shape, int wanted)
      : dim(wanted < 0 ? wanted + shape.dims() : wanted) {
    ADJ_CHECK(dim >= 0 && dim < shape.dims(), "{}: no dimension {} in {}", op, wanted, shape.str());
    for (int d = 0; d < shape.dims(); ++d) (d < dim ? outer : d == dim ? extent : inner) *= shape[d];
  }
};

}  // namespace adj::detail
