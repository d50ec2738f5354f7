#pragma once

#include <adjoint/graph/graph.h>
#include <adjoint/models/model.h>

namespace adj::training {

struct Options;
struct LearningTask;

/// The graph as its original edge list, on its device, in the given order: the input of every epoch of an
/// inductive training.
class EdgeList {
 public:
  /// For training steps and evaluations of `model`. `features`: their dtype.
  EdgeList(const Graph& graph, const models::NodeModel& model, DType features);
  /// Whether neighbours are summed over the unsorted list. Decided once, by the ComputeContext then in
  /// effect; false if the model has no such sums.
  bool scatters() const { return scatters_; }
  /// The same graph without derived structures: sorted right away, or as a list with the edges' own numbers.
  Graph graph() const;

 private:
  Relation relation() const;

  int64_t nodes_;
  Tensor src_, dst_, weight_;
  EdgeAttributes attributes_;
  std::vector<int64_t> widths_;  // of the sums
  bool scatters_ = false;
};

/// The edge list of an inductive task, for the model of its options. --aggregation measure times a step with
/// each method and sets the faster one. Throws UsageError if the options ask for sums over the list but the
/// model has none.
EdgeList make_edge_list(const Options& options, const LearningTask& task);

}  // namespace adj::training
