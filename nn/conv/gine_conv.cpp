#include <adjoint/autograd/arithmetic.h>
#include <adjoint/nn/conv/gine_conv.h>

namespace adj::nn::detail {

GineSum::GineSum(int64_t in, const GINEConvOptions& options)
    : GinSum("GINEConv", {options.eps, options.train_eps}) {
  if (options.edge_dim)
    lin.emplace(this, "lin", *options.edge_dim, in, LinearOptions{.initial = Initial::fan_in});
}

Var GineSum::summed_with_edges(const Structure& structure, const Sides& features,
                               const Var& edge_attr) const {
  const Relation& relation = structure.relation();
  const Sides x = features.dense(*this).match(layer_, structure);
  ADJ_CHECK(edge_attr, "{}: edge_attr is absent, expected [{}, E]", layer_, relation.num_edges());
  const int64_t expected = lin ? lin->weight.size(0) : x.src.size(1);
  ADJ_CHECK(edge_attr.shape() == Shape({relation.num_edges(), expected}),
            "{}: edge_attr is {}, expected [{}, {}]{}", layer_, edge_attr.shape().str(), relation.num_edges(),
            expected, lin ? "" : " like the nodes' features, or edge_dim");
  // The bias of the edges' map is the same in every message, so it is added to the sources.
  const Var y = lin ? gine_sum(relation, x.src + lin->bias, edge_attr, lin->weight)
                    : gine_sum(relation, x.src, edge_attr);
  return x.dst ? y + x.dst * root_factor(x.dst.dtype()) : y;
}

}  // namespace adj::nn::detail
