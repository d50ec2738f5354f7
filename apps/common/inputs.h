#pragma once

#include "../common.h"
#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/training/examples.h>

// What training and prediction make of a dataset and of the options that say how it is computed with.

namespace adj::apps {

/// Throws DataError where the dataset, read from `file`, has no features for `program`.
void require_features(const Dataset& data, const std::string& file, const std::string& program);
/// The rows of the features that a training sees: of its nodes, of its graphs' nodes, or, of pairs of nodes,
/// all (absent).
Tensor training_rows(const Dataset& data, const Examples& examples);
/// What --features-scaling asks for, fitted to the rows `train` of features on the CPU, with a line on what
/// `auto` chose. Throws DataError where it cannot be fitted.
FeatureScaling choose_scaling(const Dataset& data, const std::string& file, const std::string& how,
                              const Tensor& train);
/// Scales the features of a dataset: in memory at once, and those left in the file as they are read. Throws
/// DataError where the result is not finite.
void scale_features(Dataset& data, const std::string& file, const FeatureScaling& scaling);

/// What --features-bits asks for, fitted to the features of a dataset as they were scaled.
FeatureQuantization choose_quantization(const Dataset& data, const std::string& file, int64_t bits);
/// Holds the features of a dataset in as many bits, and says how many bytes that takes; those left in the
/// file are rounded so as they are read.
void quantize_features(Dataset& data, const FeatureQuantization& quantization);

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
  /// `use`: what each such graph is for. `features`: their dtype.
  EdgeList(const Graph& graph, const detail::ListUse& use, DType features);
  /// Are neighbours summed over the list as it is? Decided once, as set_aggregation() says by then; never
  /// where `use` has no sums.
  bool scatters() const { return scatters_; }
  /// The same graph, of which nothing is derived yet: sorted at once, or a list with its edges' own numbers.
  Graph graph() const;

 private:
  Relation relation() const;

  int64_t nodes_;
  Tensor src_, dst_, weight_;
  EdgeAttributes attributes_;
  detail::ListUse use_;
  bool scatters_ = false;
};

/// What the graph of an inductive epoch is for: a training step and an evaluation of the model.
detail::ListUse use_of_epoch(const NodeModel& model);
/// --aggregation: for the whole process. `measure` begins as `auto`.
void set_aggregation(const Settings& settings);

}  // namespace adj::apps
