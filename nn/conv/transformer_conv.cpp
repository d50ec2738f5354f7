#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/transformer_conv.h>

namespace adj::nn {

TransformerConv::TransformerConv(Widths in, int64_t out, const TransformerConvOptions& options)
    : lin_key(this, "lin_key", in.src, options.heads * out,
              LinearOptions{.bias = options.bias, .initial = Initial::fan_in}),
      lin_query(this, "lin_query", in.dst, options.heads * out,
                LinearOptions{.bias = options.bias, .initial = Initial::fan_in}),
      lin_value(this, "lin_value", in.src, options.heads * out,
                LinearOptions{.bias = options.bias, .initial = Initial::fan_in}),
      lin_skip(this, "lin_skip", in.dst, options.concat ? options.heads * out : out,
               LinearOptions{.bias = options.bias, .initial = Initial::fan_in}),
      options_(options) {
  ADJ_CHECK(in.positive() && out > 0 && options.heads >= 1,
            "TransformerConv: expected positive widths and heads, got {} -> {}, {} heads", in.src, out,
            options.heads);
  (void)dropout_rule(options.dropout);
  if (options.edge_dim)
    lin_edge.emplace(this, "lin_edge", *options.edge_dim, options.heads * out,
                     LinearOptions{.bias = false, .initial = Initial::fan_in});
  const int64_t width = options.concat ? options.heads * out : out;
  if (options.beta && options.root_weight)
    lin_beta.emplace(this, "lin_beta", 3 * width, 1,
                     LinearOptions{.bias = false, .initial = Initial::fan_in});
}

template <class X>
Var TransformerConv::attend(const Relation& relation, const X& x_src, const X& x_dst,
                            const Var& edge_attr) const {
  const AttentionEdges edges =
      attention_edges("TransformerConv", relation, edge_attr, options_.edge_dim, false, {});
  const auto by_head = [&](const Var& x) { return split_heads(x, options_.heads); };
  AttentionOptions attention{.dropout = options_.dropout, .training = training(), .edge_attr = edges.attr};
  if (edges.attr) attention.edge_weight = lin_edge->weight;
  Var y = dot_attention(edges.relation, by_head(lin_query(x_dst)), by_head(lin_key(x_src)),
                        by_head(lin_value(x_src)), attention);
  y = join_heads(y, options_.concat);
  if (!options_.root_weight) return y;
  const Var root = lin_skip(x_dst);
  if (!lin_beta) return y + root;
  // w ⋅ [m, r, m - r] = (w_1 + w_3) ⋅ m + (w_2 - w_3) ⋅ r: avoids the concatenation.
  const int64_t width = y.size(1);
  const auto part = [&](int64_t k) { return narrow(lin_beta->weight, 0, k * width, width); };
  const Var gate = sigmoid(linear(y, part(0) + part(2)) + linear(root, part(1) - part(2)));
  return y + (root - y) * gate;
}

Var TransformerConv::operator()(const Structure& structure, const Sides& features,
                                const Var& edge_attr) const {
  if (const Features* x = features.compact("TransformerConv", structure))
    return attend(structure.relation(), *x, *x, edge_attr);
  const Sides x = features.dense(*this).match("TransformerConv", structure, true);
  return attend(structure.relation(), x.src, x.dst, edge_attr);
}

std::string TransformerConv::describe() const {
  const Var& map = lin_key.weight;
  return fmt::format("TransformerConv({} -> {}, heads={})", map.size(0), map.size(1) / options_.heads,
                     options_.heads);
}

}  // namespace adj::nn
