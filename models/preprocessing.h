#pragma once

#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/models/edge_inputs.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj::models {

/// Preparation of data for a trained model: scaling, then quantisation of features, class names, and what of
/// the edges it takes.
struct Preprocessing {
  FeatureScaling scaling;
  std::vector<std::string> class_names;         ///< of outputs, or empty
  FeatureQuantization quantization = {};        ///< of scaled features
  std::vector<std::string> feature_names = {};  ///< of the columns of features, or empty
  FeatureEncoder encoder = {};                  ///< of the table that they are from, or empty
  EdgeInputs edges = {};
  std::vector<std::string> attr_names = {};  ///< of the columns of edges.attributes, or empty
  FeatureEncoder attr_encoder = {};          ///< of the table that these are from, or empty

  /// Saves the tensors features.mean, features.deviation, features.scale, features.zero, features.encoder
  /// and attributes.encoder (JSON), and as names with offsets classes, columns and attributes, if present. A
  /// training requires the facts features.scaling (kind), features.bits, edges.weights (EdgeWeights) and
  /// edges.attributes (columns) to match.
  void save(Checkpoint& checkpoint) const;
  /// Throws DataError naming what is missing or wrong. Checkpoints before version 0.3 only have
  /// option.raw-features.
  static Preprocessing load(const Checkpoint& checkpoint);
  /// Names of all tensors that save() may add.
  static std::span<const std::string_view> tensor_names();
  /// Of older checkpoints by option.raw-features: none if true, rows if false. Throws DataError for others.
  static FeatureScaling::Kind scaling_kind(const Checkpoint& checkpoint);
  /// 1 to 8, or 32, also for checkpoints without the fact.
  static int feature_bits(const Checkpoint& checkpoint);
  /// Of older checkpoints, without these facts: weights where a graph has them, no attributes.
  static EdgeInputs edge_inputs(const Checkpoint& checkpoint);
};

}  // namespace adj::models
