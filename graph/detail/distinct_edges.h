#pragma once

#include <adjoint/graph/generate/generators.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace adj::detail {

/// An edge as one number that sorts by target, then source.
inline uint64_t edge_key(int32_t source, int32_t target) {
  return static_cast<uint64_t>(target) << 32 | static_cast<uint64_t>(source);
}
inline int32_t source_of(uint64_t key) { return static_cast<int32_t>(key & 0xffffffffu); }
inline int32_t target_of(uint64_t key) { return static_cast<int32_t>(key >> 32); }

/// The first `count` distinct keys of draw(0), draw(1), …, ascending. For independent, uniform draws every
/// set of this size is equally likely. `count` should be at most about half of the possible keys; beyond that
/// the number of draws grows without bound. Takes 16 bytes per edge temporarily, and calls `draw` twice per
/// key, from several threads.
std::vector<uint64_t> distinct_edges(int64_t nodes, int64_t count,
                                     const std::function<uint64_t(int64_t)>& draw);

/// The edges of these keys; if `undirected`, followed by their reverses.
EdgeList list_of(int64_t nodes, const std::vector<uint64_t>& keys, bool undirected);

}  // namespace adj::detail
