#pragma once

#include "random_models.h"
#include <adjoint/models/explain/explainer.h>

// Models with random weights to explain. In a namespace of their own, as tests share their files.

namespace adj::test::explained {

using models::Explainer;
using models::ExplainMethod;
using models::ExplainTarget;
using models::Explanation;

inline constexpr int64_t kExplainedIn = 5, kExplainedOut = 3;
inline TrainedModel trained(const models::ModelFamily& family, models::ModelOptions options, Draw& draw,
                            int64_t in = kExplainedIn, int64_t out = kExplainedOut,
                            Task task = Task::node_class) {
  TrainedModel::Parts parts;
  parts.family = family;
  parts.options = options;
  parts.task = task;
  parts.num_features = in;
  parts.num_outputs = out;
  parts.edges.attributes = options.edge_dim;
  parts.origin = family.program;
  parts.model = family.make(in, out, options);
  randomise(*parts.model, draw);
  return TrainedModel(std::move(parts));
}

inline models::ModelOptions options_of(const models::ModelFamily& family, size_t model = 0) {
  models::ModelOptions o = family.defaults;
  o.model = family.models[model];
  o.hidden = 8;
  o.heads = 2;
  o.layers = 2;
  return o;
}

/// Directed, sparse, so that a node's neighbourhood is a small part, with attributes and weights.
inline Graph sparse_graph(Draw& draw, int64_t nodes = 60) {
  const Graph graph = draw.graph(nodes, 2 * nodes);
  return graph.with_edge_attr("attr", draw.normal({graph.num_edges(), 2}))
      .with_edge_weight(draw.uniform({graph.num_edges()}, 0.5, 1.5));
}

}  // namespace adj::test::explained
