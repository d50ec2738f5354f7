#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/models/explain/neighborhood.h>
#include <adjoint/models/trained_model.h>

#include <optional>
#include <vector>

// Which edges and features a prediction rests on.

namespace adj::models {

/// How a prediction is explained.
enum class ExplainMethod : uint8_t {
  /// Masks of edges and features that keep the prediction while as much as possible is masked (Ying et al.,
  /// GNNExplainer, 2019, eq. 5 to 7; coefficients, loss and hard masks of PyG's GNNExplainer).
  gnn_explainer,
  /// Attributions along the way from no messages and no features to all of them (Sundararajan et al.,
  /// Axiomatic Attribution for Deep Networks, 2017, eq. 1), by Gauss-Legendre quadrature.
  integrated_gradients,
  /// Attention coefficients: the largest of all heads and layers, as PyG's AttentionExplainer.
  attention,
};
constexpr auto names_of(ExplainMethod) {
  return std::array{"gnn_explainer", "integrated_gradients", "attention"};
}

/// Options of Explainer::explain().
struct ExplainOptions {
  ExplainMethod method = ExplainMethod::gnn_explainer;  ///< how importance is found
  /// The column of the outputs to explain; absent: the predicted class, the most probable label, or the only
  /// output.
  std::optional<int64_t> output = {};
  // GNNExplainer, with PyG's defaults except for the epochs.
  int64_t epochs = 200;                        ///< steps of Adam
  double lr = 0.01;                            ///< of Adam
  double edge_size = 0.005;                    ///< times the sum of the edges' masks
  double edge_entropy = 1.0;                   ///< times their mean entropy
  double feature_size = 1.0;                   ///< times the mean of the features' masks
  double feature_entropy = 0.1;                ///< times their mean entropy
  uint64_t seed = 1;                           ///< of the first masks
  Tensor edge_start = {}, feature_start = {};  ///< logits of the first masks, [edges] and [F]; absent: drawn
  int64_t steps = 50;                          ///< of integrated gradients: points of the quadrature
};

/// A node, a graph, or an edge (for a model of links any pair of nodes) by its number or those of its ends.
struct ExplainTarget {
  enum class Kind : uint8_t { node, graph, edge };
  Kind kind = Kind::node;         ///< what the target is
  int64_t first = 0, second = 0;  ///< `second` of an edge only
};

/// Importance of the edges and features behind one output.
struct Explanation {
  ExplainMethod method = ExplainMethod::gnn_explainer;  ///< that of the options
  int64_t output = 0;                                   ///< column that is explained
  std::vector<int32_t> edges;     ///< numbers in the whole graph of the edges whose messages reach the target
  std::vector<int32_t> src, dst;  ///< their ends, numbers in the whole graph
  /// By edge: a mask in [0, 1], an attribution of any sign, or an attention coefficient.
  std::vector<float> edge_importance;
  /// By column of the features: a mask, or the sum of attributions over nodes. Empty for attention, and where
  /// the neighbourhood's features are too many to be made dense (GiBs of one-hot numbers).
  std::vector<float> feature_importance;
  /// float32 [nodes, F] of integrated gradients: attributions of the features of Neighborhood::nodes.
  Tensor node_feature_importance;
  /// f, the explained output (a logit, or a prediction in the target's unit), and without messages and
  /// features. For integrated gradients `value` - `baseline` is the sum of all attributions, to the
  /// quadrature's error.
  double value = 0.0;
  std::optional<double> baseline = {};  ///< absent for attention
  double attributed() const;            ///< the sum of all attributions
};

/// Places in Explanation::edges, the largest absolute importance first, ties in their order.
std::vector<int32_t> edges_by_importance(const Explanation& explanation);

/// What the prediction becomes when only the most important edges are kept, or when they are left out.
struct Fidelity {
  double share = 0.0;  ///< of kept edges among those that reach the target
  /// Probability of the explained class or label, or the prediction in the target's unit: of the whole graph,
  /// of the kept edges alone, and without them.
  double whole = 0.0, kept = 0.0, removed = 0.0;
  /// PyG's fidelity of one model explanation: `plus` 1 if the prediction is another one without the kept
  /// edges, `minus` 1 if it is another one with these alone; absent for regression.
  std::optional<double> plus = {}, minus = {};
  /// 2 / (1 / fid+ + 1 / (1 - fid-)) (Amara et al., GraphFramEx, 2022; PyG's characterization_score), 0 where
  /// fid+ is 0 or fid- 1.
  std::optional<double> characterization() const;
};

/// Throws UsageError, naming it, for a model whose layers take no edge mask: one of several node types, whose
/// layers are over several relations.
void require_explainable(const TrainedModel& trained);

/// Explains outputs of a trained model for one target, on the model's device. Works on the target's
/// neighbourhood only, unless the model sees all nodes (GPS). Thread-safe; the bits do not depend on threads.
///
///   const Explainer explainer(trained, data.graph, data.x, {ExplainTarget::Kind::node, 42});
///   const Explanation why = explainer.explain({.method = ExplainMethod::integrated_gradients});
///
/// Edge masks multiply messages (autograd/edge_mask.h). Throws UsageError for a target that the model has no
/// outputs for, and for a model of several node types, whose layers take no edge mask.
class Explainer {
 public:
  /// Graph and features as for TrainedModel::outputs(), with `offsets` for a model of graphs.
  Explainer(const TrainedModel& trained, const Graph& graph, const Features& x, const ExplainTarget& target,
            const Tensor& offsets = {});

  /// Throws UsageError for options out of range, and for attention of a model without.
  Explanation explain(const ExplainOptions& options = {}) const;
  /// With the `top` edges of largest importance kept, ties by edge number; of all features.
  Fidelity fidelity(const Explanation& explanation, int64_t top) const;

  /// What an explanation is about: the nodes and edges that reach the target.
  const Neighborhood& neighborhood() const { return neighborhood_; }
  /// [1, outputs], as the model gives them: with masks [M] of the edges of neighborhood().graph, and for
  /// other features [nodes, F] than the prepared ones; either may be absent.
  Var outputs(const Var& edge_mask = {}, const Var& x = {}) const;
  /// The prepared features [nodes, F] on the model's device; absent if too many.
  const Tensor& features() const { return dense_; }
  /// The column that is explained without ExplainOptions::output.
  int64_t usual_output() const;

 private:
  Var row_of(const Features& x) const;
  int64_t column_of(const ExplainOptions& options) const;
  Explanation begin(const ExplainOptions& options) const;
  void learn_masks(const ExplainOptions& options, Explanation& result) const;
  void integrate(const ExplainOptions& options, Explanation& result) const;
  void take_attention(Explanation& result) const;
  Var explained_loss(const Var& y, int64_t column, const Tensor& unmasked) const;
  Var value_of(const Var& y, int64_t column) const;
  /// [M] of the graph: the masks [K] of the edges that reach the target, and 1 of others.
  Var spread(const Var& of_reaching) const;

  TrainedModel trained_;
  ExplainTarget target_;
  Neighborhood neighborhood_;
  Graph graph_;                 // prepared, on the model's device
  Features x_;                  // prepared
  Tensor dense_;                // the same, if not too large
  Tensor place_, other_place_;  // int32 [1]: target in graph_
  Tensor attributes_;           // of an edge
  Tensor offsets_;              // of one graph
  Tensor spread_index_;         // int32 [M]: the place of each edge among those reaching; their number: none
};

}  // namespace adj::models
