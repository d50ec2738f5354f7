#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/graph/typed_edges.h>
#include <adjoint/nn/conv/attention_edges.h>
#include <adjoint/nn/conv/rgat_conv.h>
#include <adjoint/nn/conv/rgcn_conv.h>
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

Var RGATConv::operator()(const Structure& structure, const Sides& features, const Tensor& types) const {
  const Tensor& of_edges = detail::edge_types("RGATConv", structure, types);
  const Relation& relation = structure.relation();
  ADJ_CHECK(!relation.is_rank_part(), "RGATConv: a rank's part of a graph, expected all of it on one device");
  const Sides x = features.dense(*this).match("RGATConv", structure, true);
  const TypedPairs sources = typed_pairs(relation, of_edges, relations_, EdgeEnd::source),
                   targets = typed_pairs(relation, of_edges, relations_, EdgeEnd::target);
  const Relation links = typed_pair_edges(relation, of_edges, relations_);
  const RowGroups target_rows{targets.offsets, targets.picks};
  const Var maps = detail::relation_matrices(weight, comp);
  const Var values = grouped_linear(x.src, maps, {sources.offsets, sources.picks});
  const int64_t heads = options_.heads, width = heads * out_;
  const Var queries =
      options_.blocks > 0
          ? linear(grouped_linear(x.dst, maps, target_rows), q)
          : grouped_linear(
                x.dst, reshape(matmul(reshape(maps, {relations_ * in_, width}), q), {relations_, in_, heads}),
                target_rows);
  const Var keys = linear(values, k);
  const Var logits = options_.logits == RelationalLogits::additive
                         ? leaky_relu(edge_add(links, queries, keys), options_.negative_slope)
                         : edge_dot(links, queries, keys, heads);
  const Var weights = dropout(
      edge_softmax(options_.softmax == RelationalSoftmax::within_relation ? links : sources.edges, logits),
      options_.dropout);
  const Var y =
      join_heads(aggregate(sources.edges, split_heads(values, heads), {.weight = weights}), options_.concat);
  return bias ? y + bias : y;
}

std::string RGATConv::describe() const {
  return fmt::format("RGATConv({} -> {}, {} relations, heads={}, {}, {})", in_, out_, relations_,
                     options_.heads, adj::name_of(options_.softmax), adj::name_of(options_.logits));
}

}  // namespace adj::nn
