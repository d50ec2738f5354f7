#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/generate/generators.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

// Shared by the graph generators.

namespace adj::detail {

constexpr int64_t kDrawGrain = 1 << 14;                              // edges per chunk
constexpr int64_t kMostEdges = std::numeric_limits<int32_t>::max();  // also the most nodes

/// The random streams of a seed.
enum DrawStream : uint64_t { kTargets, kSources, kRanks, kLevels, kPairs, kPairsAcross };

/// Uniform in [0, 1), 53 bits, from the words 2 * half and 2 * half + 1.
inline double uniform(const PhiloxBlock& block, int half = 0) {
  const uint64_t bits = static_cast<uint64_t>(block.word[2 * half + 1]) << 32 | block.word[2 * half];
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Same, from position `position` of a stream.
inline double uniform(uint64_t seed, DrawStream stream, int64_t position) {
  return uniform(philox(seed, stream, static_cast<uint64_t>(position)));
}

/// Maps `u` in [0, 1) to an integer in [0, n).
inline int32_t scaled(double u, int64_t n) {
  return static_cast<int32_t>(std::min(static_cast<int64_t>(u * static_cast<double>(n)), n - 1));
}

inline void check_counts(const char* name, int64_t nodes, int64_t edges) {
  ADJ_CHECK(nodes >= 1 && nodes <= kMostEdges && edges >= 0 && edges <= kMostEdges,
            "{}: expected 1 to 2^31 - 1 nodes and 0 to 2^31 - 1 edges, got {} and {}", name, nodes, edges);
}

inline EdgeList empty_list(int64_t nodes, int64_t edges) {
  EdgeList graph;
  graph.nodes = nodes;
  graph.src.resize(static_cast<size_t>(edges));
  graph.dst.resize(static_cast<size_t>(edges));
  return graph;
}

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
