#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

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
  // With averaged heads the bias is added to their mean.
  const bool joins_bias = options_.concat || options_.heads == 1;
  Var y = gat_attention(edges.relation, by_head(sources), att_src, att_dst, options_.negative_slope,
                        attention, by_head(targets), joins_bias ? bias : Var());
  y = join_heads(y, options_.concat);
  if (residual) y = y + residual;
  return bias && !joins_bias ? y + bias : y;
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

}  // namespace adj::nn
