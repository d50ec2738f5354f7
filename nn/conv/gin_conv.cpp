#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/autograd/gine_sum.h>
#include <adjoint/autograd/self_loops.h>
#include <adjoint/core/capture.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/detail/known_value.h>
#include <adjoint/nn/init.h>

#include <bit>

namespace adj::nn::detail {

namespace {

/// A + (1 + ε) I without edge weights, cached with the relation for each ε.
SparseMatrix with_own_term(const Relation& relation, double eps) {
  return *relation.cache().get<SparseMatrix>(std::bit_cast<int64_t>(eps), [&] {
    const Device device = relation.device();
    if (relation.scatters(DType::f32)) {
      const Tensor values =
          Tensor::full({relation.num_edges() + relation.num_dst()}, 1.0, DType::f32, device);
      values.rows(relation.num_edges(), values.numel()).fill_(1.0 + eps);
      return std::make_shared<SparseMatrix>(relation.loops_appended(), values);
    }
    const LoopedRelation looped = with_self_loops(relation, SelfLoops::added);
    const Tensor values =
        with_self_loops(looped, Tensor::full({relation.num_edges()}, 1.0, DType::f32, device),
                        Tensor::full({looped.loops}, 1.0 + eps, DType::f32, device))
            .value();
    SparseMatrix matrix(looped.relation, values);
    matrix.keep_adjoint(relation.symmetric());
    return std::make_shared<SparseMatrix>(std::move(matrix));
  });
}

}  // namespace

GinSum::GinSum(const char* layer, const GINConvOptions& options)
    : layer_(layer), known_eps_(std::make_shared<KnownValue>()) {
  const Tensor eps = constant({1}, options.eps);
  if (options.train_eps) {
    add_parameter("eps", learned_eps_, eps);
  } else {
    add_buffer("eps", eps_, eps);
  }
}

Var GinSum::root_factor(DType dtype) const {
  return cast((learned_eps_ ? learned_eps_ : Var(eps_)) + 1.0, dtype);
}

Var GinSum::summed(const Structure& structure, const Sides& features, const Var& bias,
                   Activation activation) const {
  const Sides sides = features.dense(*this).match(layer_, structure);
  const Relation& relation = structure.relation();
  const Var& x = sides.src;
  const auto root_term = [&] { return sides.dst * root_factor(x.dtype()); };
  if (structure.graph() == nullptr || !sides.same()) {
    Var y = aggregate(relation, x);
    if (bias) y = y + bias;
    return activate(activation, sides.dst ? y + root_term() : y);
  }
  const Graph& graph = *structure.graph();
  // Under an edge mask the node's own term is no edge.
  if (!learned_eps_ && !graph.is_normalized() && NoEdgeMask::in_force()) {
    const SparseMatrix a = with_own_term(relation, known_eps_->read(eps_));
    return bias ? aggregate(a, x, bias, activation) : activate(activation, sides.propagated(a));
  }
  const SparseMatrix a = graph.is_normalized()
                             ? graph.adjacency()
                             : SparseMatrix(relation.scatters(x.dtype()) ? relation : relation.sorted());
  return activate(activation, (bias ? aggregate(a, x, bias) : sides.propagated(a)) + root_term());
}

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
