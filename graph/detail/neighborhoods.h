#pragma once

#include <adjoint/graph/relation.h>

#include <cstdint>
#include <span>
#include <vector>

namespace adj::detail {

/// Who is next to whom, whatever the direction: what partitions and orders look at. On the host; node i's
/// neighbours stand ascending, each once and none of them i itself, and the structure is symmetric.
struct Neighborhoods {
  std::vector<int64_t> offsets;    ///< [N + 1]
  std::vector<int32_t> neighbors;  ///< by node
  /// How many edges join the two, in either direction. Empty where all pairs have as many.
  std::vector<int32_t> edges;

  int64_t nodes() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t degree(int64_t i) const {
    return offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)];
  }
  std::span<const int32_t> of(int64_t i) const {
    return {neighbors.data() + offsets[static_cast<size_t>(i)], static_cast<size_t>(degree(i))};
  }
};

/// Of a relation of one set of nodes to itself, on any device; throws, naming `op`, for another one. Where
/// the graph is undirected (both directions stand in it) the result takes 4 bytes a directed edge, and while
/// it is made 12 more (of a directed one twice the first); `counted` false: `edges` is left empty.
Neighborhoods neighborhoods(const char* op, const Relation& relation, bool counted);

/// The nodes 0 … n - 1 by key[i] >= 0, ascending, equal ones by number. Linear in n and the largest key.
std::vector<int32_t> nodes_by(const std::vector<int64_t>& key);

}  // namespace adj::detail
