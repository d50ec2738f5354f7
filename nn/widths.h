#pragma once

#include <cstdint>

namespace adj::nn {

/// Widths of the features of sources and of targets: one number where both are the nodes, two where the
/// layer is to run on a relation between different ones.
struct Widths {
  int64_t src, dst;
  Widths(int64_t both) : src(both), dst(both) {}
  Widths(int64_t sources, int64_t targets) : src(sources), dst(targets) {}
  bool positive() const { return src > 0 && dst > 0; }
};

}  // namespace adj::nn
