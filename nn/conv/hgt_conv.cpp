#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/detail/rank_pairs.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/hgt_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/detail/rank_rows.h>
#include <adjoint/nn/init.h>

#include <cmath>

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

/// Per head the maps of sources by relation, of keys (with μ) or values.
Var HGTConv::mapped(const Var& rows, const Var& maps, const RowGroups& pairs) const {
  const int64_t width = out_ / heads_;
  return split_heads(grouped_linear(rows, reshape(maps, {-1, width, width}), pairs), heads_);
}

Var HGTConv::messages(const Relation& relation, const Tensor& types, const Var& q, const Var& k,
                      const Var& v) const {
  const int64_t relations = k_rel.size(0);
  const Var key_maps = k_rel * reshape(p_rel, {relations, heads_, 1, 1});
  if (!relation.is_rank_part()) {
    const TypedPairs pairs = typed_pairs(relation, types, relations, EdgeEnd::source);
    const RowGroups rows{pairs.offsets, pairs.picks};
    return dot_attention(pairs.edges, q, mapped(k, key_maps, rows), mapped(v, v_rel, rows),
                         {.training = training()});
  }
  // Edge by edge, so that gradients of keys and values are sums in the order of one rank.
  const auto edges = adj::detail::rank_typed_edges(relation, types, relations, accumulator_dtype(q.dtype()));
  const auto& pairs = edges->sources;
  const RowGroups rows{.offsets = pairs.offsets, .picks = pairs.picks, .parts = pairs.parts};
  const float scale = 1.0f / std::sqrt(static_cast<float>(out_ / heads_));  // as dot_attention()
  const Var logits = adj::detail::rank_edge_dot(edges, q, mapped(k, key_maps, rows)) * scale;
  return adj::detail::rank_aggregate(edges, mapped(v, v_rel, rows),
                                     edge_softmax(pairs.edges.local_edges(), logits));
}

Var HGTConv::operator()(const Structure& structure, const Sides& features, const Tensor& node_types,
                        const Tensor& types) const {
  const Tensor& of_edges = detail::edge_types("HGTConv", structure, types);
  const Relation& relation = structure.relation();
  ADJ_CHECK(!features.dst, "HGTConv: features of targets beside those of sources, expected one x");
  const Sides x = features.dense(*this).match("HGTConv", structure, true);
  const int64_t count = skip.size(0);
  const RowGroups sources = detail::rank_groups(typed_rows(relation, node_types, count, EdgeEnd::source),
                                                node_types),
                  targets = relation.is_rank_part()
                                ? sources
                                : groups_of(typed_rows(relation, node_types, count, EdgeEnd::target));
  const Var queries = split_heads(q_lin(x.dst, targets), heads_);
  const Var attended = messages(relation, of_edges, queries, k_lin(x.src, sources), v_lin(x.src, sources));
  const Var y = out_lin(gelu(join_heads(attended, true)), targets);
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
