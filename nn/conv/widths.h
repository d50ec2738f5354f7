#pragma once

#include <cstdint>

namespace adj::nn {

/// Feature widths of sources and targets: one number if both are the same nodes, two for a relation between
/// different nodes.
struct Widths {
  int64_t src, dst;  ///< numbers of features
  bool one_set;      ///< one number was given
  Widths(int64_t both) : src(both), dst(both), one_set(true) {}
  Widths(int64_t sources, int64_t targets) : src(sources), dst(targets), one_set(false) {}
  bool positive() const { return src > 0 && dst > 0; }  ///< both are
};

}  // namespace adj::nn
