#include <adjoint/models/detail/onnx_layers.h>

namespace adj::detail {

namespace {

/// 1 + ε.
OnnxValue root_factor(const OnnxModule& module) { return module.weight("eps") + module.graph.number(1.0f); }

}  // namespace

OnnxValue activated(Activation activation, const OnnxValue& x) {
  if (activation == Activation::none) return x;
  return x.graph->node(activation == Activation::relu ? "Relu" : "Elu", {x});
}

OnnxValue at_least(float least, const OnnxValue& x) {
  return x.graph->node("Max", {x, x.graph->number(least)});
}

OnnxValue l2_normalized(const OnnxValue& x) {
  return x / at_least(1e-12f, x.graph->node("Sqrt", {sum_last(x * x, true)}));
}

OnnxValue linear(const OnnxModule& module, const OnnxValue& x) {
  const OnnxValue y = matmul(x, module.weight("weight"));
  return module.has("bias") ? y + module.weight("bias") : y;
}

OnnxValue mlp(const OnnxModule& module, const OnnxValue& x) {
  const OnnxModule layers = module["lins"];
  OnnxValue y = linear(layers[size_t{0}], x);
  for (size_t l = 1; layers[l].has("weight"); ++l) y = linear(layers[l], activated(Activation::relu, y));
  return y;
}

OnnxValue batch_norm(const OnnxModule& module, const OnnxValue& x) {
  return module.graph.node("BatchNormalization",
                           {x, module.weight("weight"), module.weight("bias"), module.weight("running_mean"),
                            module.weight("running_var")},
                           {{"epsilon", 1e-5f}});
}

OnnxValue layer_norm(const OnnxModule& module, const OnnxValue& x) {
  return module.graph.node("LayerNormalization", {x, module.weight("weight"), module.weight("bias")},
                           {{"epsilon", 1e-5f}});
}

OnnxValue gcn_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x) {
  OnnxGraph& graph = module.graph;
  const OnnxValue weight = unsqueeze(e.weight ? e.weight : filled(shape_of(e.target, 0, 1), 1.0f), 1);
  const OnnxValue degree = reduce_by(Reduce::sum, weight, e.target, e.nodes);
  const OnnxValue zero = graph.number(0.0f);
  const OnnxValue root = where(graph.node("Greater", {degree, zero}),
                               graph.node("Reciprocal", {graph.node("Sqrt", {degree})}), zero);
  // On the narrower side, as the messages take most of the time.
  const OnnxValue map = module.weight("weight");
  const bool maps_first = module.extent("weight", 0) > module.extent("weight", 1);
  const OnnxValue sent = (maps_first ? matmul(x, map) : x) * root;
  const OnnxValue sum = reduce_by(Reduce::sum, gather(sent, e.source) * weight, e.target, e.nodes) * root;
  return (maps_first ? sum : matmul(sum, map)) + module.weight("bias");
}

OnnxValue sage_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x, Reduce reduce) {
  const bool projects = module["lin"].has("weight");
  const OnnxValue sent = projects ? activated(Activation::relu, linear(module["lin"], x)) : x;
  const OnnxModule map = module["lin_l"];
  const bool maps_first = reduce == Reduce::mean && map.extent("weight", 0) > map.extent("weight", 1);
  const OnnxValue value = maps_first ? matmul(sent, map.weight("weight")) : sent;
  const OnnxValue near = reduce_by(reduce, gather(value, e.source), e.target, e.nodes);
  return (maps_first ? near + map.weight("bias") : linear(map, near)) + linear(module["lin_r"], x);
}

OnnxValue gin_sum(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x) {
  return reduce_by(Reduce::sum, gather(x, e.source), e.target, e.nodes) + x * root_factor(module);
}

OnnxValue gine_sum(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x) {
  const OnnxValue message = activated(Activation::relu, gather(x, e.source) + linear(module["lin"], e.attr));
  return reduce_by(Reduce::sum, message, e.target, e.nodes) + x * root_factor(module);
}

}  // namespace adj::detail
