#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/data/feature_encoder.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/graph/graph.h>
#include <adjoint/models/checkpoint.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj::models {

/// Edge weights of a model's graphs: unused, factors of the sums over neighbours, or the last column of the
/// edges' attributes.
enum class EdgeWeights : uint8_t { unused, used, attribute };
constexpr auto names_of(EdgeWeights) { return std::array{"unused", "used", "attribute"}; }

/// What a trained model takes of a graph's edges.
struct EdgeInputs {
  EdgeWeights weights = EdgeWeights::unused;  ///< the use of the graph's edge weights
  int64_t attributes = 0;                     ///< columns of the graph's edge attribute "attr"; 0: unused

  /// ModelOptions::edge_dim: all columns.
  int64_t width() const { return attributes + (weights == EdgeWeights::attribute ? 1 : 0); }
  /// The graph with exactly the weights and the attribute "attr", float32 [M, width()], that the model takes,
  /// and the relations' numbers "type": loaders copy whatever edges have into every batch.
  /// A graph without weights where the model uses them stays so: all weigh 1. Throws if the attribute or the
  /// weight that becomes one is absent, or for another number of columns.
  Graph apply(const Graph& graph) const;
};

/// Columns of the edge attribute "attr" of a graph; 0 if it has none.
int64_t edge_attribute_columns(const Graph& graph);

struct TrainingTypes;

/// Preparation of data for a trained model: scaling, then quantisation of features, class names, and what of
/// the edges it takes.
struct Preprocessing {
  FeatureScaling scaling;
  std::vector<std::string> class_names;               ///< of outputs, or empty
  FeatureQuantization quantization = {};              ///< of scaled features
  std::vector<std::string> feature_names = {};        ///< of the columns of features, or empty
  FeatureEncoder encoder = {};                        ///< of the table that they are from, or empty
  EdgeInputs edges = {.weights = EdgeWeights::used};  ///< as in older checkpoints
  std::vector<std::string> attr_names = {};           ///< of the columns of edges.attributes, or empty
  FeatureEncoder attr_encoder = {};                   ///< of the table that these are from, or empty
  /// Of a graph of several types, whose features it scales instead of this object; else null.
  std::shared_ptr<const TrainingTypes> types = nullptr;

  /// Saves the tensors features.mean, features.deviation, features.scale, features.zero, features.encoder
  /// and attributes.encoder (JSON), and as names with offsets classes, columns and attributes, if present,
  /// and TrainingTypes. A training requires the facts features.scaling (kind), features.bits, edges.weights
  /// (EdgeWeights) and edges.attributes (columns) to match.
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
