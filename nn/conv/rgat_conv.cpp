#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/detail/rank_pairs.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/rgat_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>
#include <adjoint/nn/detail/rank_rows.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

RGATConv::RGATConv(int64_t in, int64_t out, int64_t relations, const RGATConvOptions& options)
    : in_(in), out_(out), relations_(relations), options_(options) {
  ADJ_CHECK(options.heads > 0 && out > 0, "RGATConv: expected positive widths and heads, got {} of {} heads",
            out, options.heads);
  (void)dropout_rule(options.dropout);
  const int64_t width = options.heads * out;
  add_parameter(
      "weight", weight,
      glorot_matrices(detail::relation_maps("RGATConv", relations, in, width, options.bases, options.blocks)),
      {.name = options.bases > 0 ? "basis" : "weight"});
  if (options.bases > 0)
    add_parameter("comp", comp, glorot_uniform(relations, options.bases), {.name = "att"});
  add_parameter("q", q, glorot_uniform(width, options.heads));
  add_parameter("k", k, glorot_uniform(width, options.heads));
  if (options.bias) add_parameter("bias", bias, constant({options.concat ? width : out}, 0.0));
}

/// The maps of keys or queries for the rows of each relation, as one matrix each: their gradients go by
/// parts.
Var RGATConv::each_relation(const Var& map) const {
  const Var ones(Tensor::full({relations_, 1, 1}, 1.0, map.dtype(), map.device()));
  return reshape(map, {1, map.size(0), map.size(1)}) * ones;
}

Var RGATConv::queries_of(const Var& x, const Var& maps, const RowGroups& rows) const {
  const int64_t width = options_.heads * out_;
  if (options_.blocks == 0) {
    const Var by_head = matmul(reshape(maps, {relations_ * in_, width}), q);
    return grouped_linear(x, reshape(by_head, {relations_, in_, options_.heads}), rows);
  }
  const Var mapped = grouped_linear(x, maps, rows);
  if (!rows.parts) return linear(mapped, q);
  return grouped_linear(mapped, each_relation(q), {.offsets = rows.offsets, .parts = rows.parts});
}

Var RGATConv::rank_attention(const Relation& part, const Tensor& types, const Var& x) const {
  ADJ_CHECK(options_.logits == RelationalLogits::additive,
            "RGATConv: {} over the rows of ranks, expected additive-self-attention",
            adj::name_of(options_.logits));
  const auto edges = adj::detail::rank_typed_edges(part, types, relations_, accumulator_dtype(x.dtype()));
  const auto &sources = edges->sources, &targets = edges->targets;
  const Var maps = detail::relation_matrices(weight, comp);
  const Var values =
      grouped_linear(x, maps, {.offsets = sources.offsets, .picks = sources.picks, .parts = sources.parts});
  const Var queries =
      queries_of(x, maps, {.offsets = targets.offsets, .picks = targets.picks, .parts = targets.parts});
  const Var keys =
      grouped_linear(values, each_relation(k), {.offsets = sources.offsets, .parts = sources.parts});
  const Var logits = leaky_relu(adj::detail::rank_edge_add(edges, queries, keys), options_.negative_slope);
  const bool by_relation = options_.softmax == RelationalSoftmax::within_relation;
  const Var weights = dropout(edge_softmax(by_relation ? edges->links : sources.edges.local_edges(), logits),
                              options_.dropout);
  return adj::detail::rank_aggregate(edges, split_heads(values, options_.heads), weights);
}

Var RGATConv::attention(const Relation& relation, const Tensor& of_edges, const Sides& x) const {
  const TypedPairs sources = typed_pairs(relation, of_edges, relations_, EdgeEnd::source),
                   targets = typed_pairs(relation, of_edges, relations_, EdgeEnd::target);
  const Relation links = typed_pair_edges(relation, of_edges, relations_);
  const Var maps = detail::relation_matrices(weight, comp);
  const Var values = grouped_linear(x.src, maps, {sources.offsets, sources.picks});
  const int64_t heads = options_.heads;
  const Var queries = queries_of(x.dst, maps, {targets.offsets, targets.picks});
  const Var keys = linear(values, k);
  const Var logits = options_.logits == RelationalLogits::additive
                         ? leaky_relu(edge_add(links, queries, keys), options_.negative_slope)
                         : edge_dot(links, queries, keys, heads);
  const Var weights = dropout(
      edge_softmax(options_.softmax == RelationalSoftmax::within_relation ? links : sources.edges, logits),
      options_.dropout);
  return aggregate(sources.edges, split_heads(values, heads), {.weight = weights});
}

Var RGATConv::operator()(const Structure& structure, const Sides& features, const Tensor& types) const {
  const Tensor& of_edges = detail::edge_types("RGATConv", structure, types);
  const Relation& relation = structure.relation();
  const Sides x = features.dense(*this).match("RGATConv", structure, true);
  const Var messages =
      relation.is_rank_part() ? rank_attention(relation, of_edges, x.src) : attention(relation, of_edges, x);
  return detail::rank_bias(join_heads(messages, options_.concat), bias);
}

std::string RGATConv::describe() const {
  return fmt::format("RGATConv({} -> {}, {} relations, heads={}, {}, {})", in_, out_, relations_,
                     options_.heads, adj::name_of(options_.softmax), adj::name_of(options_.logits));
}

}  // namespace adj::nn
