#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/relation.h>

#include <string>
#include <vector>

namespace adj {

// Orders of a graph's nodes, so that what is gathered together lies together. Each is int32 [N] on the
// graph's device, a permutation: new node i is old node order[i], as permuted() (graph/transforms.h) and
// reordered() (data/reordered.h) take it. All but degree_order see the graph as undirected neighbourhoods,
// without self-loops. They are made on the host, wherever the graph is; the same graph and seed give the same
// bits, whatever the number of threads.

/// How many nodes to a block metis_order() goes by where it is not told how many blocks: their features at
/// width 128 are half a megabyte, which stays in a core's cache.
inline constexpr int64_t kNodesPerBlock = 1024;

/// The blocks of a k-way partition (graph/order/partition.h) one after the other, in each the nodes as they
/// stood. A row's sources are then mostly in the rows' own block, which is what an aggregation wants of a
/// cache; nested dissection, METIS's other order, is for few fill-ins of a factorisation, and keeps its
/// separators apart from both sides. METIS bisects recursively for its first cut, so that blocks of like
/// numbers are close. `parts` 0: one for every kNodesPerBlock nodes.
Tensor metis_order(const Relation& relation, int64_t parts = 0, uint64_t seed = 0);

/// How many blocks those are for so many nodes.
inline int64_t blocks_of(int64_t nodes) { return nodes > kNodesPerBlock ? nodes / kNodesPerBlock : 1; }
/// The nodes of part 0, then those of part 1, …, in each as they stood; `part` int32 [N], 0 to N - 1. Throws
/// otherwise.
Tensor order_by_part(const Tensor& part);

/// Reverse Cuthill-McKee (Cuthill & McKee 1969; reversed, George 1971): breadth first, neighbours by degree,
/// from a pseudo-peripheral node of each component in turn (George & Liu 1979), all reversed. Keeps |i - j|
/// small: for grids, roads, meshes. O(M log(largest degree)).
Tensor rcm_order(const Relation& relation);

/// Communities within communities (Rabbit order; Arai et al. 2016): nodes by degree, ascending, are each
/// merged into the neighbouring community of the largest gain of modularity, as long as there is a gain; each
/// community's nodes then follow one another, depth first in the tree of merges, communities by their first
/// node's number. One thread, unlike the paper's: their merges race. About 12 bytes a directed edge.
Tensor rabbit_order(const Relation& relation);

/// Hubs first: by the number of edges in and out, descending, equal ones as they stood.
Tensor degree_order(const Relation& relation);

/// Any order, each as likely as any other: what others are compared with.
Tensor random_order(int64_t nodes, Generator& generator, Device device = {});

struct OrderOptions {
  int64_t parts = 0;  ///< of metis; 0: one for every kNodesPerBlock nodes
  uint64_t seed = 0;  ///< of metis and random
  /// int64 [G + 1]: where there are many graphs in one (data/dataset.h), each keeps its place and its nodes
  /// are ordered among themselves.
  Tensor graph_offsets = {};
};
/// "metis", "rcm", "rabbit", "degree", "random".
const std::vector<std::string>& order_names();
/// One of them. Throws UsageError on another name.
Tensor named_order(const std::string& name, const Relation& relation, const OrderOptions& options = {});

/// The same nodes of each graph as `order` has them, one graph after the other. `graph_offsets` int64 [G + 1]
/// from 0 to N, never falling; throws otherwise.
Tensor order_within(const Tensor& order, const Tensor& graph_offsets);

/// The inverse of an order, on its device: old node j is new node position[j]. Throws where it is no
/// permutation, naming what stands twice or out of range.
Tensor inverse_order(const Tensor& order);

/// How far apart in memory the ends of edges are: |i - j| over all edges.
struct EdgeSpans {
  int64_t bandwidth = 0;  ///< the largest
  double mean = 0.0;
  int64_t median = 0;  ///< of an even number the lower one
};
/// All 0 where there are no edges.
EdgeSpans edge_spans(const Relation& relation);

}  // namespace adj
