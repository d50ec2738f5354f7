#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/hgt_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

HGTConv::HGTConv(int64_t in, int64_t out, int64_t node_types, int64_t relations,
                 const HGTConvOptions& options)
    : k_lin(this, "k_lin", in, out, node_types),
      q_lin(this, "q_lin", in, out, node_types),
      v_lin(this, "v_lin", in, out, node_types),
      out_lin(this, "out_lin", out, out, node_types),
      in_(in),
      out_(out),
      heads_(options.heads) {
  ADJ_CHECK(heads_ > 0 && out % heads_ == 0 && relations > 0,
            "HGTConv: expected heads that divide {} features, and relations, got {} heads, {} relations", out,
            heads_, relations);
  const int64_t width = out / heads_;
  const auto map = [&] {
    return fan_in_uniform(width, relations * heads_ * width).reshape({relations, heads_, width, width});
  };
  add_parameter("k_rel", k_rel, map());
  add_parameter("v_rel", v_rel, map());
  add_parameter("p_rel", p_rel, constant({relations, heads_}, 1.0));
  add_parameter("skip", skip, constant({node_types}, 1.0));
}

Var HGTConv::operator()(const Structure& structure, const Sides& features, const Tensor& node_types,
                        const Tensor& types) const {
  const Tensor& of_edges = detail::edge_types("HGTConv", structure, types);
  const Relation& relation = structure.relation();
  ADJ_CHECK(!relation.is_rank_part(), "HGTConv: a rank's part of a graph, expected all of it on one device");
  ADJ_CHECK(!features.dst, "HGTConv: features of targets beside those of sources, expected one x");
  const Sides x = features.dense(*this).match("HGTConv", structure, true);
  const int64_t relations = k_rel.size(0), count = skip.size(0), width = out_ / heads_;
  const RowGroups sources = groups_of(typed_rows(relation, node_types, count, EdgeEnd::source)),
                  targets = groups_of(typed_rows(relation, node_types, count, EdgeEnd::target));
  const TypedPairs pairs = typed_pairs(relation, of_edges, relations, EdgeEnd::source);
  const auto mapped = [&](const Var& rows, const Var& maps) {
    const Var y = grouped_linear(rows, reshape(maps, {-1, width, width}), {pairs.offsets, pairs.picks});
    return split_heads(y, heads_);
  };
  const Var keys = mapped(k_lin(x.src, sources), k_rel * reshape(p_rel, {relations, heads_, 1, 1})),
            values = mapped(v_lin(x.src, sources), v_rel);
  const Var messages = dot_attention(pairs.edges, split_heads(q_lin(x.dst, targets), heads_), keys, values,
                                     {.training = training()});
  const Var y = out_lin(gelu(join_heads(messages, true)), targets);
  if (in_ != out_) return y;
  // The gate of each target, as a product with ones: its gradient is a sum by type.
  const Var ones(Tensor::full({y.size(0), 1}, 1.0, y.dtype(), y.device()));
  const Var gate = grouped_linear(ones, reshape(sigmoid(skip), {count, 1, 1}), targets);
  return x.dst + (y - x.dst) * gate;
}

std::string HGTConv::describe() const {
  return fmt::format("HGTConv({} -> {}, {} types of nodes, {} relations, heads={})", in_, out_, skip.size(0),
                     k_rel.size(0), heads_);
}

}  // namespace adj::nn
