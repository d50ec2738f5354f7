#pragma once

#include <adjoint/core/tensor.h>

#include <algorithm>
#include <cstdint>

// What a few bytes can declare takes memory, in reading and in training, by the gigabyte. So it is held
// against what a file lists, by importers before they make anything of it and by the reader of the schema:
// some are free, further ones take one in 16 that is listed. data/README.md has the rules.

namespace adj::detail {

/// Nodes of which nothing but their number is known, beside so many edges.
inline int64_t most_bare_nodes(int64_t edges) { return std::max<int64_t>(1'000'000, 16 * edges); }
/// Columns of sparse features that have so many entries.
inline int64_t most_sparse_columns(int64_t entries) { return std::max<int64_t>(1'000'000, 16 * entries); }
/// Classes, of which so many have a label.
inline int64_t most_classes(int64_t used) { return std::max<int64_t>(10'000, 16 * used); }

/// Labels of classes, and whether they number them.
struct ClassLabels {
  int64_t used = 0;                    ///< how many classes have a label
  int64_t largest = -1, position = 0;  ///< the largest label, and the first row that has it

  explicit ClassLabels(const Tensor& y);  ///< int32 [N] on the CPU, below 0: none
  bool number_classes() const { return largest < most_classes(used); }
  /// Where they do not: "expected classes from 0 to …".
  std::string expected() const;
};

}  // namespace adj::detail
