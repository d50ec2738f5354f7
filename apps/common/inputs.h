#pragma once

#include "../common.h"

// What training and prediction make of a dataset and of the options that say how it is computed with.

namespace adj::apps {

/// Throws DataError where the dataset, read from `file`, has no features for `program`; where wanted, divides
/// their rows by their sums.
void prepare_features(Dataset& data, const std::string& file, const std::string& program, bool normalize);

/// --precision: what matrix products of this process round to, and of which dtype features and parameters
/// are.
void set_precision(const Settings& settings);
DType feature_dtype(const Settings& settings);

/// Prints what --explain asks for.
void print_explanations();

/// The graph as the edge list that it was made of, on its device, in the order that was given: what arrives
/// anew at every epoch of an inductive training.
class EdgeList {
 public:
  explicit EdgeList(const Graph& graph);
  /// The same graph, of which nothing is derived yet.
  Graph graph() const { return Graph::from_coo(nodes_, src_, dst_, weight_, attributes_); }

 private:
  int64_t nodes_;
  Tensor src_, dst_, weight_;
  EdgeAttributes attributes_;
};

}  // namespace adj::apps
