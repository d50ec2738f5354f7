#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/nn/conv/hetero_conv.h>

namespace adj::nn {

HeteroConv::HeteroConv(TypedWidths widths, Combination combination)
    : widths_(std::move(widths)), combination_(combination) {
  for (const auto& [type, width] : widths_)
    ADJ_CHECK(width > 0, "HeteroConv: nodes '{}' have {} features, expected 1 or more", type, width);
}

void HeteroConv::insert(const EdgeType& type, std::unique_ptr<Module> module, Call call) {
  for (const Layer& layer : layers_)
    ADJ_CHECK(layer.type != type, "HeteroConv: {} has a layer already", type.str());
  module->train(training());
  layers_.push_back(
      {type, Owned<Module>(this, detail::module_name(type), std::move(module)), std::move(call)});
}

TypedVars HeteroConv::operator()(const HeteroGraph& graph, const TypedVars& x,
                                 const std::map<EdgeType, Var>& edges) const {
  for (const auto& [type, values] : edges)
    ADJ_CHECK(
        std::any_of(layers_.begin(), layers_.end(), [&](const Layer& layer) { return layer.type == type; }),
        "HeteroConv: values of edges {}, which have no layer", type.str());
  const std::vector<Var> all = parameters();
  const DType dtype = all.empty() ? DType::f32 : all.front().dtype();
  std::map<std::string, std::vector<Var>> results;
  for (const Layer& layer : layers_) {
    const EdgeType& type = layer.type;
    const auto side = [&](const std::string& nodes) {
      return detail::features_of("HeteroConv", graph, x, nodes, widths_.at(nodes), dtype);
    };
    const Sides sides = type.src == type.dst ? Sides(side(type.src)) : Sides(side(type.src), side(type.dst));
    const auto values = edges.find(type);
    results[type.dst].push_back(
        layer.call(graph.relation(type), sides, values == edges.end() ? Var() : values->second));
  }
  TypedVars y;
  for (const auto& [type, parts] : results) y[type] = detail::combined(parts, combination_);
  return y;
}

std::string HeteroConv::describe() const {
  return fmt::format("HeteroConv({} relations, {})", layers_.size(), adj::name_of(combination_));
}

Var detail::combined(const std::vector<Var>& results, Combination combination) {
  if (results.size() == 1) return results[0];
  if (combination == Combination::cat) return cat(results, 1);
  for (const Var& result : results)
    ADJ_CHECK(result.shape() == results[0].shape(),
              "HeteroConv: results {} and {} of one type of node, expected one "
              "shape, or cat",
              results[0].shape().str(), result.shape().str());
  if (combination == Combination::max) {
    std::vector<Var> stacked;
    for (const Var& result : results) stacked.push_back(reshape(result, {result.size(0), 1, result.size(1)}));
    return max(cat(stacked, 1), 1).values;
  }
  Var sum = results[0];
  for (size_t k = 1; k < results.size(); ++k) sum = sum + results[k];
  return combination == Combination::mean ? sum * (1.0 / static_cast<double>(results.size())) : sum;
}

}  // namespace adj::nn
