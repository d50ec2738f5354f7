#include <adjoint/models/detail/onnx_layers.h>

#include <cmath>
#include <limits>

namespace adj::detail {

namespace {

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

/// 1 / sqrt(width).
OnnxValue score_scale(OnnxGraph& graph, int64_t width) {
  return graph.number(static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))));
}

}  // namespace

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
  const OnnxValue logit = sum_last(part("lin_query", e.target) * key) * score_scale(module.graph, width);
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
  OnnxValue logit = matmul(part(0, {1, 0, 2}), part(1, {1, 2, 0})) * score_scale(graph, width);
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
