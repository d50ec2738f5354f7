#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

namespace {

/// The heads of attend(bias), plus the residual if there is one. With averaged heads the bias is added to
/// their mean.
template <class Options, class Attend>
Var joined(const Options& o, const Var& residual, const Var& bias, Attend attend) {
  const bool joins_bias = o.concat || o.heads == 1;
  Var y = join_heads(attend(joins_bias ? bias : Var()), o.concat);
  if (residual) y = y + residual;
  return bias && !joins_bias ? y + bias : y;
}

}  // namespace

GATConv::GATConv(Widths in, int64_t out, const GATConvOptions& options) : in_(in.src), options_(options) {
  const int64_t heads = options.heads;
  ADJ_CHECK(in.positive() && out > 0 && heads >= 1,
            "GATConv: expected positive widths and heads, got {} -> {}, {} heads", in.src, out, heads);
  (void)dropout_rule(options.dropout);
  const LinearOptions no_bias{.bias = false};
  if (in.one_set) {
    lin.emplace(this, "lin", in.src, heads * out, no_bias);
  } else {
    lin_src.emplace(this, "lin_src", in.src, heads * out, no_bias);
    lin_dst.emplace(this, "lin_dst", in.dst, heads * out, no_bias);
  }
  add_parameter("att_src", att_src, glorot_uniform(heads, out));
  add_parameter("att_dst", att_dst, glorot_uniform(heads, out));
  if (options.edge_dim) {
    lin_edge.emplace(this, "lin_edge", *options.edge_dim, heads * out, no_bias);
    add_parameter("att_edge", att_edge, glorot_uniform(heads, out));
  }
  const int64_t width = options.concat ? heads * out : out;
  if (options.residual) res.emplace(this, "res", in.dst, width, no_bias);
  if (options.bias) add_parameter("bias", bias, constant({width}, 0.0));
}

template <class X>
Var GATConv::attend(const Relation& relation, const X& x_src, const X& x_dst, bool same,
                    const Var& edge_attr) const {
  const Var residual = res ? (*res)(x_dst) : Var();
  const Var targets = lin && same ? Var() : lin ? (*lin)(x_dst) : (*lin_dst)(x_dst);  // absent: the sources
  const Var sources = lin ? (*lin)(x_src) : (*lin_src)(x_src);
  const AttentionEdges edges = attention_edges("GATConv", relation, edge_attr, options_.edge_dim,
                                               options_.add_self_loops, options_.fill_value);
  const auto by_head = [&](const Var& x) { return x ? split_heads(x, options_.heads) : x; };
  AttentionOptions attention{.dropout = options_.dropout, .training = training(), .edge_attr = edges.attr};
  if (edges.attr) {
    // ⟨a_edge, W_e e⟩ is a product of e with one column per head.
    const Var map = reshape(lin_edge->weight, {lin_edge->weight.size(0), options_.heads, att_src.size(1)});
    attention.edge_weight = cast(head_dot(map, att_edge), sources.dtype());
  }
  return joined(options_, residual, bias, [&](const Var& shift) {
    return gat_attention(edges.relation, by_head(sources), att_src, att_dst, options_.negative_slope,
                         attention, by_head(targets), shift);
  });
}

Var GATConv::operator()(const Structure& structure, const Sides& features, const Var& edge_attr) const {
  if (const Features* x = features.compact("GATConv", structure))
    return attend(structure.relation(), *x, *x, true, edge_attr);
  const Sides x = features.dense(*this).match("GATConv", structure, true);
  return attend(structure.relation(), x.src, x.dst, x.same(), edge_attr);
}

std::string GATConv::describe() const {
  return fmt::format("GATConv({} -> {}, heads={})", in_, att_src.size(1), options_.heads);
}

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
  return joined(options_, residual, bias, [&](const Var& shift) {
    return gatv2_attention(edges.relation, targets, sources, att, options_.negative_slope, attention, shift);
  });
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
