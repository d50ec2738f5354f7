#include <adjoint/autograd/shape.h>
#include <adjoint/core/error.h>
#include <adjoint/models/edge_inputs.h>

namespace adj::models {

int64_t edge_attribute_columns(const Graph& graph) {
  const auto found = graph.edge_attributes().find("attr");
  if (found == graph.edge_attributes().end()) return 0;
  return found->second.dims() == 1 ? 1 : found->second.size(1);
}

Graph EdgeInputs::apply(const Graph& graph) const {
  Graph taken = graph;
  for (const auto& [name, attribute] : graph.edge_attributes()) taken = taken.with_edge_attr(name, {});
  if (width() > 0) {
    const int64_t edges = graph.num_edges(), columns = edge_attribute_columns(graph);
    ADJ_CHECK(attributes == 0 || columns == attributes, "{} edge attribute columns, trained on {}", columns,
              attributes);
    std::vector<Var> parts;
    if (attributes > 0)
      parts.emplace_back(graph.edge_attr("attr").to(DType::f32).reshape({edges, attributes}));
    if (weights == EdgeWeights::attribute) {
      ADJ_CHECK(graph.edge_weight(), "no edge weights, trained with them as an edge attribute");
      parts.emplace_back(graph.edge_weight().reshape({edges, 1}));
    }
    const NoGrad no_grad;
    taken = taken.with_edge_attr("attr", parts.size() == 1 ? parts.front().value() : cat(parts, 1).value());
  }
  return weights == EdgeWeights::used || !taken.edge_weight() ? taken : taken.with_edge_weight({});
}

}  // namespace adj::models
