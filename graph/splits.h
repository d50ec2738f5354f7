#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/hetero_graph.h>
#include <adjoint/graph/transforms.h>

#include <map>
#include <vector>

namespace adj {

/// Fractions for validation (`val`) and `test`; the rest is for training.
struct SplitFractions {
  double val = 0.1;
  double test = 0.1;
};

/// Nodes for `train`, `val` and `test`: int32 [K], ascending, each may be empty.
struct NodeSplit {
  Tensor train, val, test;
};

/// Random split of the nodes 0 … n - 1; part sizes are n times the fractions, rounded. Depends on the
/// generator only, not on the device. Throws unless each fraction and their sum are in [0, 1].
NodeSplit random_node_split(int64_t n, const SplitFractions& fractions, Generator& generator,
                            Device device = {});

/// Stratified random split of the labelled nodes: part sizes are within one node of the fractions overall,
/// and within two per class. `labels` int32 [n]; -1 means unlabelled, in no part. The members of each class
/// come in random order, class by class, and each goes to the part with the largest deficit. Depends on the
/// labels and the generator only; on the labels' device.
NodeSplit stratified_node_split(const Tensor& labels, const SplitFractions& fractions, Generator& generator);

/// Folds of a stratified k-fold cross-validation: int32 [n], the fold 0 … folds - 1 of each item. `labels`
/// int32 [n]; -1 means unlabelled, fold -1. The members of each class are dealt round-robin in random order,
/// and the next class continues where the last one ended: fold sizes differ by at most one, overall and per
/// class. Depends on the labels and the generator only; on the labels' device. Throws for fewer than 2 folds
/// or more folds than labelled items.
Tensor stratified_folds(const Tensor& labels, int64_t folds, Generator& generator);

/// Node pairs for link prediction: `positive`, with an edge src -> dst, and as many `negative`, without one.
struct LinkExamples {
  EdgeIndex positive, negative;
};

/// The pairs of different nodes with an edge, each once, by target, then source: for a symmetric structure in
/// one direction, from the smaller node, else every direction that has an edge; if `undirected`, one that has
/// an edge. On the graph's device.
EdgeIndex linked_pairs(const Graph& graph, bool undirected = false);

/// A graph to `train` on, and the edges removed from it, for `val` and `test`.
struct LinkSplit {
  Transformed train;
  LinkExamples val, test;
};

/// Removes random edges from a graph, for link prediction. All edges between two nodes (both directions,
/// parallel ones) go to the same part (no leakage); the fractions refer to such node pairs. Self-loops stay
/// for training. For a symmetric structure `positive` has each pair in one direction, else every direction
/// that has an edge, once; parallel edges count once. `negative` pairs have no edge in that direction in the
/// full graph, are not self-loops, and are all distinct; throws if the graph is too dense for that many.
/// If `undirected`, for scores that do not depend on the direction, `positive` has each pair once, and
/// `negative` pairs have no edge in either direction. Depends on the graph and the generator, not on the
/// device.
LinkSplit random_link_split(const Graph& graph, const SplitFractions& fractions, Generator& generator,
                            bool undirected = false);

/// The same of one relation of a heterogeneous graph: nodes by their numbers within their types.
struct HeteroLinkSplit {
  HeteroGraph train;  ///< without the edges of the pairs in `val` and `test`
  EdgeIndex pairs;    ///< that are left to train on
  LinkExamples val;   ///< pairs to validate, with as many negative ones
  LinkExamples test;  ///< pairs to test, likewise
  /// Other relations that lost the edges of these pairs: the reverse by name (are_reverses()), and those with
  /// the same pairs in either direction.
  std::vector<EdgeType> same;
  /// Of other relations between the same types that join some of these pairs: how many. They keep them.
  std::map<EdgeType, int64_t> also;
};

/// Removes random edges of `type` from a graph, for link prediction, on the CPU: all edges between two nodes
/// go to the same part, also those of relations that are the same edges (no leakage). Between nodes of one
/// type pairs have no direction, as with `undirected` above; negative pairs are between the relation's types,
/// without an edge, and distinct. Throws for an unknown type, and as above.
HeteroLinkSplit random_link_split(const HeteroGraph& graph, const EdgeType& type,
                                  const SplitFractions& fractions, Generator& generator);

}  // namespace adj
