#pragma once

#include <adjoint/core/tensor.h>

#include <algorithm>
#include <cstdint>

// A few bytes can declare sizes that take gigabytes in reading and training. Declared counts are therefore
// checked against the number of listed items, by importers before any allocation and by the schema reader: a
// base amount is free, and above it at most 16 per listed item. Rules: data/README.md.

namespace adj::detail {

/// Maximum number of nodes known only by number, for so many edges.
inline int64_t most_bare_nodes(int64_t edges) { return std::max<int64_t>(1'000'000, 16 * edges); }
/// Maximum columns of sparse features with so many entries.
inline int64_t most_sparse_columns(int64_t entries) { return std::max<int64_t>(1'000'000, 16 * entries); }
/// Maximum number of classes if so many have a label.
inline int64_t most_classes(int64_t used) { return std::max<int64_t>(10'000, 16 * used); }

/// Class labels, and whether they are consecutive numbers.
struct ClassLabels {
  int64_t used = 0;                    ///< number of classes with a label
  int64_t largest = -1, position = 0;  ///< largest label, and the first row with it

  explicit ClassLabels(const Tensor& y);  ///< int32 [N] on the CPU; negative: unlabelled
  bool number_classes() const { return largest < most_classes(used); }
  /// If they are not: "expected classes from 0 to …".
  std::string expected() const;
};

}  // namespace adj::detail
