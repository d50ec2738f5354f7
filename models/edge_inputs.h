#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/graph/graph.h>

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
  /// The graph with exactly the weights and the attribute "attr", float32 [M, width()], that the model takes:
  /// loaders copy whatever edges have into every batch.
  /// A graph without weights where the model uses them stays so: all weigh 1. Throws if the attribute or the
  /// weight that becomes one is absent, or for another number of columns.
  Graph apply(const Graph& graph) const;
};

/// Columns of the edge attribute "attr" of a graph; 0 if it has none.
int64_t edge_attribute_columns(const Graph& graph);

}  // namespace adj::models
