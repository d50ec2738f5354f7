#pragma once

#include <adjoint/graph/relation.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace adj {

/// Edges from which on fewer products count for more than fewer launches.
inline constexpr int64_t kManyTypedEdges = 1 << 20;

/// Which node of an edge.
enum class EdgeEnd : uint8_t { source, target };

/// The distinct pairs (type of an edge, its source or target), by type, then node: layers over several types
/// of edges multiply by a type's matrix once per pair, not per edge.
struct TypedPairs {
  Tensor offsets;  ///< int64 [R + 1]: type r has the pairs from offsets[r] to offsets[r + 1]
  Relation picks;  ///< from the nodes to the pairs: one edge for each pair, in order
  /// All edges between the pairs and the nodes at the other end: from pairs of sources to targets, or from
  /// sources to pairs of targets. Numbered in its csr() order.
  Relation edges;
  Tensor order;  ///< int32 [M]: edge k of `edges` is edge order[k] of the relation
};

/// The pairs of `types`, int32 [M] in [0, num_types) by edge number. Made once on the relation's device
/// (three sorts of M pairs and a synchronization) and cached with it for this tensor; another tensor or a
/// number of types has its own. Throws Error for a type out of range, naming its edge, and if `types` was
/// modified since.
TypedPairs typed_pairs(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end);

/// Targets beside each other that have in-edges of the same types, with a slot for each target and type.
struct SlotRange {
  int64_t begin, end;  ///< targets
  int64_t first;       ///< slot of the first target's first type; the others follow by target, then type
  std::vector<int64_t> types;

  /// Number of targets.
  int64_t targets() const { return end - begin; }
  /// Number of slots, of all its targets.
  int64_t slots() const { return targets() * static_cast<int64_t>(types.size()); }
};

/// The targets' pairs laid out for whole products: the slots of a range are a matrix of a row a target,
/// whose columns are those of its types, one after another.
struct TypedSlots {
  std::vector<SlotRange> ranges;  ///< ascending; targets in none have no in-edges
  Relation edges;                 ///< all edges, from sources to slots, of which few have none
};

/// The slots of `types`, and with `loops` those of a further type, `num_types`, of an edge to each target
/// from the source of its number. Null unless the targets are in such an order (as in a JointGraph, by type
/// of node) that the slots are at most half as many again as the pairs of targets, in at most 64 products;
/// null for fewer edges than `least`, too, whose products are bound by launches. Reads all types on the host.
/// Cached and checked as pairs are.
std::shared_ptr<const TypedSlots> typed_slots(const Relation& relation, const Tensor& types,
                                              int64_t num_types, bool loops, int64_t least = kManyTypedEdges);

/// Makes typed_slots() of `first`, the edges into the first targets of `whole` (edges_into_first()), out of
/// those of `whole`, whose rows they share, if its ranges end where these targets do; else does nothing.
/// Types are those of each relation's edges.
void share_slots(const Relation& whole, const Tensor& types, const Relation& first, const Tensor& first_types,
                 int64_t num_types, bool loops, int64_t least = kManyTypedEdges);

/// The same with a slot of every target for every type, in one range: made on the relation's device without
/// reading anything on the host, by one launch and a transpose. For relations whose steps are bound by
/// launches, as sampled blocks; null for more than 63 types, and for so few edges that most slots would be
/// empty. A type out of range throws on a CPU at once, on a GPU at the next read from it. Cached and checked
/// as pairs are.
std::shared_ptr<const TypedSlots> all_slots(const Relation& relation, const Tensor& types, int64_t num_types,
                                            bool loops);

/// 1 / c_{i,r} (R-GCN eq. 2, Schlichtkrull et al. 2018), c the number of edges of type r that end at target
/// i: [M] float32 or float64, by edge number of the pairs of sources. Cached likewise.
Tensor typed_mean_weights(const Relation& relation, const Tensor& types, int64_t num_types, DType dtype);

/// All edges from pairs of sources to pairs of targets, by edge number of the pairs of sources: for logits of
/// both ends, and sums over the edges of one type. Cached likewise.
Relation typed_pair_edges(const Relation& relation, const Tensor& types, int64_t num_types);

/// Rows by type.
struct TypedRows {
  Tensor offsets;  ///< int64 [T + 1]: type t has the rows from offsets[t] to offsets[t + 1] of `rows`
  Tensor rows;     ///< int32 [N], ascending within a type; absent if all rows are in the order of types
};

/// The rows of `types`, int32 [N] in [0, num_types). Synchronizes. Throws Error for a type out of range,
/// naming its row.
TypedRows typed_rows(const Tensor& types, int64_t num_types);
/// The same for the nodes at one end of a relation whose first sources are its targets, `types` of all
/// sources: made once and cached with it as pairs are.
TypedRows typed_rows(const Relation& relation, const Tensor& types, int64_t num_types, EdgeEnd end);

}  // namespace adj
