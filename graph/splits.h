#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/transforms.h>

namespace adj {

/// What goes to validation and test; the rest is for training.
struct SplitFractions {
  double val = 0.1;
  double test = 0.1;
};

/// Nodes, int32, ascending.
struct NodeSplit {
  Tensor train, val, test;
};

/// Deals the nodes 0 … n - 1 out at random; the parts are n times the fractions, rounded. Depends on the
/// generator alone, not on the device. Throws unless the fractions are 0 to 1, together too.
NodeSplit random_node_split(int64_t n, const SplitFractions& fractions, Generator& generator,
                            Device device = {});

/// The same of the nodes that have a label, every class having its share of each part: the parts are within
/// one node of the fractions of all, and of a class within two. `labels` int32 [n], -1: without a label, in
/// no part. The members of each class come in random order, one class after another, and each goes to the
/// part that lacks most by then. Depends on the labels and the generator alone; on the labels' device.
NodeSplit stratified_node_split(const Tensor& labels, const SplitFractions& fractions, Generator& generator);

/// The folds of a cross-validation in which every class has its share (stratified k-fold): int32 [n], the
/// fold 0 … folds - 1 of each thing. `labels` int32 [n], -1: without a label, in fold -1. The members of each
/// class are dealt to the folds in random order, one after the other, and the next class goes on where the
/// last one ended: folds differ by one thing at most, and so do their shares of a class. Depends on the
/// labels and the generator alone; on the labels' device. Throws for fewer than 2 folds or more folds than
/// labelled things.
Tensor stratified_folds(const Tensor& labels, int64_t folds, Generator& generator);

/// Pairs of nodes to tell apart: those that an edge src -> dst joins, and as many that none does.
struct LinkExamples {
  EdgeIndex positive, negative;
};

/// The pairs of different nodes that edges join, each once, by target, then source: where the graph's
/// structure is symmetric in one direction, from the smaller node, else in every direction that has an edge.
/// On the graph's device.
EdgeIndex linked_pairs(const Graph& graph);

/// A graph to train on, and the edges taken out of it.
struct LinkSplit {
  Transformed train;
  LinkExamples val, test;
};

/// Takes edges out of a graph at random, for a model to find. All edges between two nodes (both directions,
/// parallel ones) go the same way, so that no part knows of another's; the fractions are of such pairs of
/// nodes. Self-loops stay for training. Where the graph's structure is symmetric, `positive` has each pair in
/// one direction, else every direction that has an edge, once; parallel edges count once. `negative` pairs
/// have no edge in the whole graph in that direction, nor are they self-loops, and no two of all are equal;
/// throws where the graph is too dense to have that many. Depends on the graph and the generator, not on the
/// device.
LinkSplit random_link_split(const Graph& graph, const SplitFractions& fractions, Generator& generator);

}  // namespace adj
