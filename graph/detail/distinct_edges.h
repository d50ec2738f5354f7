#pragma once

#include <adjoint/graph/generate/generators.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace adj::detail {

/// An edge as one number, by which edges ascend by target, then source.
inline uint64_t edge_key(int32_t source, int32_t target) {
  return static_cast<uint64_t>(target) << 32 | static_cast<uint64_t>(source);
}
inline int32_t source_of(uint64_t key) { return static_cast<int32_t>(key & 0xffffffffu); }
inline int32_t target_of(uint64_t key) { return static_cast<int32_t>(key >> 32); }

/// The first `count` distinct ones of the keys draw(0), draw(1), …, ascending. If these are independent and
/// uniform, every set of so many edges is as likely as any other. `count` is to be at most about half of the
/// keys that there are: the draws that it takes grow without bound where none is left. Takes 16 bytes an
/// edge for a while, and calls `draw` twice for each key, from several threads.
std::vector<uint64_t> distinct_edges(int64_t nodes, int64_t count,
                                     const std::function<uint64_t(int64_t)>& draw);

/// The edges that these keys are; `undirected`: then their reverses.
EdgeList list_of(int64_t nodes, const std::vector<uint64_t>& keys, bool undirected);

}  // namespace adj::detail
