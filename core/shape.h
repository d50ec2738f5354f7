#pragma once

#include <adjoint/core/error.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace adj {

/// Extents of a row-major tensor, slowest first; at most four. A scalar has no dimension and one element.
class Shape {
 public:
  static constexpr int kMaxDims = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    ADJ_CHECK(extents.size() <= kMaxDims, "shape: at most {} dimensions, got {}", kMaxDims, extents.size());
    for (int64_t extent : extents) {
      ADJ_CHECK(extent >= 0, "shape: negative extent {}", extent);
      extents_[dims_++] = extent;
    }
  }

  int dims() const { return dims_; }
  /// Extent of dimension `d`; negative counts from the end.
  int64_t operator[](int d) const {
    const int i = d < 0 ? d + dims_ : d;
    ADJ_CHECK(i >= 0 && i < dims_, "shape {}: no dimension {}", str(), d);
    return extents_[i];
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < dims_; ++d) n *= extents_[d];
    return n;
  }
  /// "[2708, 16]".
  std::string str() const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxDims> extents_{};
  int dims_ = 0;
};

}  // namespace adj
