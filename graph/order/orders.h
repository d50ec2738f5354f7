#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/types/csr.h>

#include <string>
#include <vector>

namespace adj {

// Node orders for locality: nodes gathered together are stored together. Each order is int32 [N] on the
// graph's device, a permutation: new node i is old node order[i], as for permuted() (graph/transforms.h) and
// reordered() (data/reordered.h). All except degree_order treat the graph as undirected, without self-loops.
// They run on the host for any device; the same graph and seed give the same bits for any number of threads.

/// Default block size of metis_order(), in nodes: features of width 128 then take half a megabyte, which
/// stays in a core's cache.
inline constexpr int64_t kNodesPerBlock = 1024;

/// The blocks of a k-way partition (graph/order/partition.h) one after the other, nodes within a block in
/// their old order. A row's sources are then mostly in its own block, which suits an aggregation's cache use;
/// METIS's nested dissection minimises fill-in of factorisations instead, and separates its separators from
/// both sides. METIS starts with recursive bisection, so blocks with close numbers are close. `parts` 0: one
/// per kNodesPerBlock nodes.
Tensor metis_order(const Relation& relation, int64_t parts = 0, uint64_t seed = 0);

/// Default number of blocks for `nodes` nodes.
inline int64_t blocks_of(int64_t nodes) { return nodes > kNodesPerBlock ? nodes / kNodesPerBlock : 1; }
/// The nodes of part 0, then those of part 1, …, each in their old order; `part` int32 [N], 0 to N - 1.
/// Throws otherwise.
Tensor order_by_part(const Tensor& part);

/// Reverse Cuthill-McKee (Cuthill & McKee 1969; reversed, George 1971): breadth-first, neighbours by degree,
/// from a pseudo-peripheral node of each component in turn (George & Liu 1979), all reversed. Keeps |i - j|
/// small: for grids, roads, meshes. O(M log(largest degree)).
Tensor rcm_order(const Relation& relation);

/// Nested communities (Rabbit order; Arai et al. 2016): nodes, by ascending degree, are merged into the
/// neighbouring community with the largest positive modularity gain; each community's nodes are then numbered
/// depth-first in the merge tree, communities by their first node's number. Single-threaded: the paper's
/// parallel merges race. About 12 bytes per directed edge.
Tensor rabbit_order(const Relation& relation);

/// Hubs first: by in- plus out-degree, descending, ties in their old order.
Tensor degree_order(const Relation& relation);

/// A uniformly random order: the baseline for comparisons.
Tensor random_order(int64_t nodes, Generator& generator, Device device = {});

/// Options of named_order().
struct OrderOptions {
  int64_t parts = 0;  ///< for metis; 0: one per kNodesPerBlock nodes
  uint64_t seed = 0;  ///< for metis and random
  /// int64 [G + 1]: for a batch of graphs (data/dataset.h); each graph keeps its place and is ordered on its
  /// own.
  Tensor graph_offsets = {};
};
/// "metis", "rcm", "rabbit", "degree", "random".
const std::vector<std::string>& order_names();
/// The order of this name. Throws UsageError for another one.
Tensor named_order(const std::string& name, const Relation& relation, const OrderOptions& options = {});

/// Applies `order` within each graph; graphs stay in sequence. `graph_offsets` int64 [G + 1] from 0 to N,
/// non-decreasing; throws otherwise.
Tensor order_within(const Tensor& order, const Tensor& graph_offsets);

/// The inverse of an order, on its device: old node j is new node position[j]. Throws if it is not a
/// permutation, naming the duplicate or out-of-range entry.
Tensor inverse_order(const Tensor& order);

/// Memory distance between the ends of edges: |i - j| over all edges.
struct EdgeSpans {
  int64_t bandwidth = 0;  ///< the maximum
  double mean = 0.0;      ///< over all edges, parallel ones too
  int64_t median = 0;     ///< the lower one for an even number
};
/// All 0 without edges.
EdgeSpans edge_spans(const Relation& relation);

/// Number of tiles with at least `least` entries, and the entries in them.
struct TileCount {
  int64_t least, tiles, entries;
};

/// Occupancy of the aligned `height` x `width` tiles of a matrix, for each threshold in `least`: the work of
/// tensor cores, and the gathers saved by a product over row windows. With `width` 1 a tile is a column of a
/// row window, as condensed by "sparse graph translation" (TC-GNN, section 4.1); entries / tiles is then the
/// reuse of a gathered row. Parallel edges count separately. The structure must be on the host; O(entries).
/// Throws unless height, width and all thresholds are 1 to 2^31 - 1.
std::vector<TileCount> window_reuse(const Csr& a, int64_t height, int64_t width,
                                    const std::vector<int64_t>& least);

}  // namespace adj
