#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/transforms.h>

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

}  // namespace adj
