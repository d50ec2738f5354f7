#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/nn/conv/gatv2_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

GATv2Conv::GATv2Conv(Widths in, int64_t out, const GATv2ConvOptions& options)
    : lin_l(this, "lin_l", in.src, options.heads * out,
            LinearOptions{.bias = options.bias, .initial = Initial::glorot_bias}),
      lin_r(this, "lin_r", in.dst, options.heads * out,
            LinearOptions{.bias = options.bias, .initial = Initial::glorot_bias}),
      options_(options) {
  const int64_t heads = options.heads;
  ADJ_CHECK(in.positive() && out > 0 && heads >= 1,
            "GATv2Conv: expected positive widths and heads, got {} -> {}, {} heads", in.src, out, heads);
  (void)dropout_rule(options.dropout);
  if (options.share_weights) {
    ADJ_CHECK(in.src == in.dst, "GATv2Conv: widths {} and {} cannot share their weights", in.src, in.dst);
    lin_r.weight = lin_l.weight;
    lin_r.bias = lin_l.bias;
  }
  add_parameter("att", att, glorot_uniform(heads, out));
  const LinearOptions no_bias{.bias = false};
  if (options.edge_dim) lin_edge.emplace(this, "lin_edge", *options.edge_dim, heads * out, no_bias);
  const int64_t width = options.concat ? heads * out : out;
  if (options.residual) res.emplace(this, "res", in.dst, width, no_bias);
  if (options.bias) add_parameter("bias", bias, constant({width}, 0.0));
}

template <class X>
Var GATv2Conv::attend(const Relation& relation, const X& x_src, const X& x_dst, bool same,
                      const Var& edge_attr) const {
  const Var of_sources = lin_l(x_src), residual = res ? (*res)(x_dst) : Var();
  const Var of_targets = same && options_.share_weights ? of_sources : lin_r(x_dst);
  const AttentionEdges edges = attention_edges("GATv2Conv", relation, edge_attr, options_.edge_dim,
                                               options_.add_self_loops, options_.fill_value);
  const auto by_head = [&](const Var& x) { return split_heads(x, options_.heads); };
  AttentionOptions attention{.dropout = options_.dropout, .training = training(), .edge_attr = edges.attr};
  if (edges.attr) attention.edge_weight = lin_edge->weight;
  const Var sources = by_head(of_sources);
  const Var targets = of_targets.id() == of_sources.id() ? sources : by_head(of_targets);
  // With averaged heads the bias is added to their mean.
  const bool joins_bias = options_.concat || options_.heads == 1;
  Var y = gatv2_attention(edges.relation, targets, sources, att, options_.negative_slope, attention,
                          joins_bias ? bias : Var());
  y = join_heads(y, options_.concat);
  if (residual) y = y + residual;
  return bias && !joins_bias ? y + bias : y;
}

Var GATv2Conv::operator()(const Structure& structure, const Sides& features, const Var& edge_attr) const {
  if (const Features* x = features.compact("GATv2Conv", structure))
    return attend(structure.relation(), *x, *x, true, edge_attr);
  const Sides x = features.dense(*this).match("GATv2Conv", structure, true);
  return attend(structure.relation(), x.src, x.dst, x.same(), edge_attr);
}

std::string GATv2Conv::describe() const {
  return fmt::format("GATv2Conv({} -> {}, heads={})", lin_l.weight.size(0), att.size(1), options_.heads);
}

}  // namespace adj::nn
