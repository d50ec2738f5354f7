#pragma once

#include <adjoint/graph/graph.h>
#include <adjoint/models/model.h>

namespace adj::training {

struct Options;
struct LearningTask;

/// The graph as the edge list that it was made of, on its device, in the order that was given: what arrives
/// anew at every epoch of an inductive training.
class EdgeList {
 public:
  /// `use`: what each such graph is for. `features`: their dtype.
  EdgeList(const Graph& graph, const ListUse& use, DType features);
  /// Are neighbours summed over the list as it is? Decided once, as ComputeContext says by then; never
  /// where `use` has no sums.
  bool scatters() const { return scatters_; }
  /// The same graph, of which nothing is derived yet: sorted at once, or a list with its edges' own numbers.
  Graph graph() const;

 private:
  Relation relation() const;

  int64_t nodes_;
  Tensor src_, dst_, weight_;
  EdgeAttributes attributes_;
  ListUse use_;
  bool scatters_ = false;
};

/// The edge list of a task whose training is inductive, for the model of its options. --aggregation measure
/// times a step by each way of summing, and sets the faster one. Throws UsageError where the model has no
/// sums that an edge list serves for, but the options ask for them.
EdgeList make_edge_list(const Options& options, const LearningTask& task);

}  // namespace adj::training
