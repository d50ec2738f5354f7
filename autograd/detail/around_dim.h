#pragma once

#include <adjoint/core/shape.h>

#include <array>
#include <span>
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

/// `shape` with one extent replaced.
inline Shape with_extent(const Shape& shape, int dim, int64_t extent) {
  std::array<int64_t, Shape::kMaxDims> extents{};
  for (int d = 0; d < shape.dims(); ++d) extents[static_cast<size_t>(d)] = d == dim ? extent : shape[d];
  return Shape(std::span<const int64_t>(extents.data(), static_cast<size_t>(shape.dims())));
}

}  // namespace adj::detail
