#pragma once

#include <adjoint/graph/relation.h>

#include <cstdint>
#include <span>
#include <vector>

namespace adj::detail {

/// Undirected adjacency for partitioning and ordering. On the host; each node's neighbours are ascending,
/// distinct and without the node itself, and the structure is symmetric.
struct Neighborhoods {
  std::vector<int64_t> offsets;    ///< [N + 1]
  std::vector<int32_t> neighbors;  ///< by node, ascending
  /// Number of edges per pair, in either direction. Empty if it is the same for all pairs.
  std::vector<int32_t> edges;

  int64_t nodes() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t degree(int64_t i) const {
    return offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)];
  }
  std::span<const int32_t> neighbors_of(int64_t i) const {
    return {neighbors.data() + offsets[static_cast<size_t>(i)], static_cast<size_t>(degree(i))};
  }
};

/// From a relation of one set of nodes to itself, on any device; throws, naming `op`, for any other. For an
/// undirected graph (both directions present) the result takes 4 bytes per directed edge, plus 12 temporarily
/// (for a directed one twice the first). With `counted` false, `edges` stays empty.
Neighborhoods neighborhoods(const char* op, const Relation& relation, bool counted);

/// The nodes 0 … n - 1 sorted by key[i] >= 0, ascending, ties by number. Linear in n and the largest key.
std::vector<int32_t> nodes_by(const std::vector<int64_t>& key);

}  // namespace adj::detail
