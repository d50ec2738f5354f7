#include <adjoint/models/detail/onnx_layers.h>

#include <cmath>
#include <limits>

namespace adj::detail {

namespace {

OnnxValue not_loop(const OnnxEdges& e) {
  return e.source.graph->node("Not", {e.source.graph->node("Equal", {e.source, e.target})});
}

/// int64 [K]: numbers of the true ones of [M].
OnnxValue numbers_of(const OnnxValue& condition) {
  OnnxGraph& graph = *condition.graph;
  return graph.node("Squeeze", {graph.node("NonZero", {condition}), graph.integers({0})});
}

/// int64 [count]: 0, 1, ….
OnnxValue every(const OnnxValue& count) {
  OnnxGraph& graph = *count.graph;
  const auto scalar = [&](int64_t number) { return graph.node("Squeeze", {graph.integers({number})}); };
  return graph.node("Range", {scalar(0), graph.node("Squeeze", {count}), scalar(1)});
}

/// x [M, *] reduced into `target` [count, *]. ScatterElements, for runtimes may run the rows of ScatterND in
/// parallel, also equal ones.
OnnxValue scatter(const OnnxValue& target, const OnnxValue& x, const OnnxValue& group, const char* how) {
  OnnxGraph& graph = *x.graph;
  const OnnxValue rows = graph.node("Expand", {unsqueeze(group, 1), shape_of(x, 0, 2)});
  return graph.node("ScatterElements", {target, rows, x}, {{"reduction", std::string(how)}});
}

/// [M] as [M, 1].
OnnxValue column(const OnnxValue& x) { return unsqueeze(x, 1); }

/// float32 [count, 1]: how many of `group` are each.
OnnxValue counts(const OnnxValue& group, const OnnxValue& count) {
  return reduce_by(Reduce::sum, column(filled(shape_of(group, 0, 1), 1.0f)), group, count);
}

OnnxValue maximum(const OnnxValue& x, float floor) {
  return x.graph->node("Max", {x, x.graph->number(floor)});
}

/// [M, H] -> [M, H]: each score's share among those of its target.
OnnxValue softmax_by(const OnnxValue& score, const OnnxEdges& e) {
  OnnxGraph& graph = *score.graph;
  const OnnxValue most = reduce_by(Reduce::max, score, e.target, e.nodes);
  const OnnxValue power = graph.node("Exp", {score - gather(most, e.target)});
  return power / gather(reduce_by(Reduce::sum, power, e.target, e.nodes), e.target);
}

/// Σ_j α_ij v_j for α [M, H], v [M, H, D]: [N, H D].
OnnxValue attended(const OnnxValue& score, const OnnxValue& value, const OnnxEdges& e, int64_t width) {
  const OnnxValue messages = reshape(unsqueeze(softmax_by(score, e), 2) * value, {0, width});
  return reduce_by(Reduce::sum, messages, e.target, e.nodes);
}

OnnxValue split_heads(const OnnxValue& x, int64_t heads, int64_t width) {
  return reshape(x, {0, heads, width});
}

/// [N, H D] itself, or the mean of its heads [N, D].
OnnxValue join_heads(const OnnxValue& y, int64_t heads, int64_t width, bool concat) {
  if (concat || heads == 1) return y;
  OnnxGraph& graph = *y.graph;
  return graph.node("ReduceMean", {split_heads(y, heads, width), graph.integers({1})},
                    {{"keepdims", int64_t{0}}});
}

OnnxValue leaky_relu(const OnnxValue& x) { return x.graph->node("LeakyRelu", {x}, {{"alpha", 0.2f}}); }
OnnxValue sigmoid(const OnnxValue& x) { return x.graph->node("Sigmoid", {x}); }

/// 1 + ε.
OnnxValue root_factor(const OnnxModule& module) { return module.weight("eps") + module.graph.number(1.0f); }

}  // namespace

OnnxEdges with_renewed_loops(const OnnxEdges& e) {
  const OnnxValue kept = numbers_of(not_loop(e)), all = every(e.nodes);
  const OnnxValue target = gather(e.target, kept);
  OnnxEdges looped{concat({gather(e.source, kept), all}), concat({target, all}), {}, {}, e.nodes};
  if (!e.attr) return looped;
  const OnnxValue attr = gather(e.attr, kept);
  looped.attr = concat({attr, reduce_by(Reduce::mean, attr, target, e.nodes)});
  return looped;
}

OnnxEdges with_completed_loops(const OnnxEdges& e) {
  OnnxEdges looped = with_renewed_loops({e.source, e.target, {}, {}, e.nodes});
  if (!e.weight) return looped;
  OnnxGraph& graph = *e.weight.graph;
  const OnnxValue kept = not_loop(e), loops = numbers_of(graph.node("Not", {kept}));
  // The number of each node's last loop; behind the weights of all edges is that of a loop which is added.
  const OnnxValue none = graph.node("Expand", {graph.integers({-1}), concat({e.nodes, graph.integers({1})})});
  const OnnxValue last = graph.node(
      "Squeeze", {scatter(none, column(loops), gather(e.target, loops), "max"), graph.integers({1})});
  const OnnxValue added = graph.node("Less", {last, graph.integers({0})});
  const OnnxValue place = where(added, shape_of(e.weight, 0, 1), last);
  const OnnxValue of_loops = gather(concat({e.weight, filled(graph.integers({1}), 1.0f)}), place);
  looped.weight = concat({gather(e.weight, numbers_of(kept)), of_loops});
  return looped;
}

OnnxValue reduce_by(Reduce reduce, const OnnxValue& x, const OnnxValue& group, const OnnxValue& count) {
  ADJ_CHECK(reduce == Reduce::sum || reduce == Reduce::mean || reduce == Reduce::max,
            "ONNX: the reduction {} is not exported, expected sum, mean or max", name_of(reduce));
  OnnxGraph& graph = *x.graph;
  const OnnxValue shape = concat({count, shape_of(x, 1, 2)});
  if (reduce == Reduce::max) {
    const OnnxValue lowest = filled(shape, -std::numeric_limits<float>::infinity());
    const OnnxValue any = graph.node("Greater", {counts(group, count), graph.number(0.0f)});
    return where(any, scatter(lowest, x, group, "max"), graph.number(0.0f));
  }
  const OnnxValue sum = scatter(filled(shape, 0.0f), x, group, "add");
  return reduce == Reduce::sum ? sum : sum / maximum(counts(group, count), 1.0f);
}

OnnxValue activated(Activation activation, const OnnxValue& x) {
  if (activation == Activation::none) return x;
  return x.graph->node(activation == Activation::relu ? "Relu" : "Elu", {x});
}

OnnxValue l2_normalized(const OnnxValue& x) {
  return x / maximum(x.graph->node("Sqrt", {sum_last(x * x, true)}), 1e-12f);
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
  const OnnxValue weight = e.weight ? column(e.weight) : column(filled(shape_of(e.target, 0, 1), 1.0f));
  const OnnxValue degree = reduce_by(Reduce::sum, weight, e.target, e.nodes);
  const OnnxValue zero = graph.number(0.0f);
  const OnnxValue root = where(graph.node("Greater", {degree, zero}),
                               graph.node("Reciprocal", {graph.node("Sqrt", {degree})}), zero);
  const OnnxValue sent = matmul(x, module.weight("weight")) * root;
  const OnnxValue sum = reduce_by(Reduce::sum, gather(sent, e.source) * weight, e.target, e.nodes);
  return sum * root + module.weight("bias");
}

OnnxValue sage_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x, Reduce reduce) {
  const bool projects = module["lin"].has("weight");
  const OnnxValue sent = projects ? activated(Activation::relu, linear(module["lin"], x)) : x;
  const OnnxValue near = reduce_by(reduce, gather(sent, e.source), e.target, e.nodes);
  return linear(module["lin_l"], near) + linear(module["lin_r"], x);
}

OnnxValue gat_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x, bool concat) {
  const int64_t heads = module.extent("att_src", 0), width = module.extent("att_src", 1);
  const OnnxValue sent = split_heads(linear(module["lin"], x), heads, width);
  const auto term = [&](const char* name) { return sum_last(sent * module.weight(name)); };
  OnnxValue logit = gather(term("att_src"), e.source) + gather(term("att_dst"), e.target);
  if (e.attr) {
    const OnnxValue map = split_heads(module["lin_edge"].weight("weight"), heads, width);
    logit = logit + matmul(e.attr, sum_last(map * module.weight("att_edge")));
  }
  const OnnxValue y = attended(leaky_relu(logit), gather(sent, e.source), e, heads * width);
  return join_heads(y, heads, width, concat) + module.weight("bias");
}

OnnxValue gatv2_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x, bool concat) {
  const int64_t heads = module.extent("att", 0), width = module.extent("att", 1);
  const auto by_head = [&](const OnnxValue& y) { return split_heads(y, heads, width); };
  const OnnxValue sent = gather(by_head(linear(module["lin_l"], x)), e.source);
  OnnxValue pair = sent + gather(by_head(linear(module["lin_r"], x)), e.target);
  if (e.attr) pair = pair + by_head(linear(module["lin_edge"], e.attr));
  const OnnxValue logit = sum_last(leaky_relu(pair) * module.weight("att"));
  return join_heads(attended(logit, sent, e, heads * width), heads, width, concat) + module.weight("bias");
}

OnnxValue transformer_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x, int64_t heads,
                           bool concat) {
  const int64_t all = module["lin_key"].extent("weight", 1), width = all / heads;
  const auto by_head = [&](const OnnxValue& y) { return split_heads(y, heads, width); };
  const auto part = [&](const char* name, const OnnxValue& rows) {
    return gather(by_head(linear(module[name], x)), rows);
  };
  OnnxValue key = part("lin_key", e.source), value = part("lin_value", e.source);
  if (e.attr) {
    const OnnxValue edge = by_head(linear(module["lin_edge"], e.attr));
    key = key + edge;
    value = value + edge;
  }
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)));
  const OnnxValue logit = sum_last(part("lin_query", e.target) * key) * module.graph.number(scale);
  const OnnxValue y = join_heads(attended(logit, value, e, all), heads, width, concat);
  const OnnxValue root = linear(module["lin_skip"], x);
  if (!module["lin_beta"].has("weight")) return y + root;
  const OnnxValue gate =
      sigmoid(matmul(detail::concat({y, root, y - root}, 1), module["lin_beta"].weight("weight")));
  return y + (root - y) * gate;
}

OnnxValue agnn_conv(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x) {
  const OnnxValue direction = l2_normalized(x);
  const OnnxValue cosine = sum_last(gather(direction, e.source) * gather(direction, e.target), true);
  const OnnxValue share = softmax_by(cosine * module.weight("beta"), e);
  return reduce_by(Reduce::sum, share * gather(x, e.source), e.target, e.nodes);
}

OnnxValue gin_sum(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x) {
  return reduce_by(Reduce::sum, gather(x, e.source), e.target, e.nodes) + x * root_factor(module);
}

OnnxValue gine_sum(const OnnxModule& module, const OnnxEdges& e, const OnnxValue& x) {
  const OnnxValue message = activated(Activation::relu, gather(x, e.source) + linear(module["lin"], e.attr));
  return reduce_by(Reduce::sum, message, e.target, e.nodes) + x * root_factor(module);
}

OnnxValue multihead_attention(const OnnxModule& module, const OnnxValue& x, int64_t heads,
                              const OnnxValue& group) {
  OnnxGraph& graph = module.graph;
  const int64_t all = module["out_proj"].extent("weight", 0), width = all / heads;
  const OnnxValue parts = reshape(linear(module["in_proj"], x), {0, 3, heads, width});
  // [heads, N, width], keys [heads, width, N].
  const auto part = [&](int64_t k, std::vector<int64_t> order) {
    const OnnxValue one = graph.node(
        "Squeeze",
        {graph.node("Gather", {parts, graph.integers({k})}, {{"axis", int64_t{1}}}), graph.integers({1})});
    return graph.node("Transpose", {one}, {{"perm", std::move(order)}});
  };
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)));
  OnnxValue logit = matmul(part(0, {1, 0, 2}), part(1, {1, 2, 0})) * graph.number(scale);
  if (group) {
    const OnnxValue same = graph.node("Equal", {unsqueeze(group, 0), unsqueeze(group, 1)});
    logit = where(same, logit, graph.number(-std::numeric_limits<float>::infinity()));
  }
  const OnnxValue share = graph.node("Softmax", {logit}, {{"axis", int64_t{-1}}});
  const OnnxValue y =
      graph.node("Transpose", {matmul(share, part(2, {1, 0, 2}))}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  return linear(module["out_proj"], reshape(y, {0, all}));
}

}  // namespace adj::detail
