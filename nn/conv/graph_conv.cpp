#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/nn/conv/graph_conv.h>

namespace adj::nn {

namespace {

/// The edge weights of a graph or block in the accumulator's dtype of such features.
Var own_weight(const Structure& structure, DType dtype) {
  const Tensor& weight = structure.edge_weight();
  return weight ? Var(weight.to(accumulator_dtype(dtype))) : Var();
}

}  // namespace

GraphConv::GraphConv(Widths in, int64_t out, const GraphConvOptions& options)
    : in_(in),
      out_(out),
      aggr_(options.aggr),
      lin_rel(this, "lin_rel", in.src, out, LinearOptions{.bias = options.bias, .initial = Initial::fan_in}),
      lin_root(this, "lin_root", in.dst, out, LinearOptions{.bias = false, .initial = Initial::fan_in}) {}

// Matrix of a sum or mean, built once; null with `edge_weight` or for a mean of weighted terms.
const SparseMatrix* GraphConv::matrix_of(const Graph& graph, const Var& edge_weight) const {
  if (edge_weight) return nullptr;
  if (aggr_ == Reduce::sum) return &graph.adjacency();
  return aggr_ == Reduce::mean && !graph.edge_weight() ? &graph.mean_adjacency() : nullptr;
}

Var GraphConv::operator()(const Structure& structure, const Sides& features, const Var& edge_weight) const {
  const bool is_linear = aggr_ == Reduce::sum || aggr_ == Reduce::mean;
  if (const Features* x = features.compact("GraphConv", structure); x != nullptr && is_linear)
    return of_product(*structure.graph(), *x, edge_weight);
  const Sides x = features.dense(*this).match("GraphConv", structure);
  const SparseMatrix* a =
      structure.graph() && x.same() ? matrix_of(*structure.graph(), edge_weight) : nullptr;
  const bool linear_first = in_.src > out_ && is_linear;
  if (a != nullptr && linear_first)
    return aggregate(*a, linear(x.src, lin_rel.weight), lin_rel.bias) + lin_root(x.dst);
  const Var weight = edge_weight ? edge_weight : own_weight(structure, x.src.dtype());
  const AggregateOptions options{.reduce = aggr_, .weight = weight};
  if (!linear_first) {
    const auto neighbors = [&] {
      return a != nullptr ? x.propagated(*a) : aggregate(structure.relation(), x.src, options);
    };
    if (!x.dst) return lin_rel(neighbors());
    return linear_sum(x.dst, lin_root.weight, lin_rel.bias, neighbors, lin_rel.weight);
  }
  Var y = aggregate(structure.relation(), linear(x.src, lin_rel.weight), options);
  if (lin_rel.bias) y = y + lin_rel.bias;
  return x.dst ? y + lin_root(x.dst) : y;
}

Var GraphConv::of_product(const Graph& graph, const Features& x, const Var& edge_weight) const {
  const Var mapped = linear(x, lin_rel.weight);
  const SparseMatrix* a = matrix_of(graph, edge_weight);
  if (a != nullptr) return aggregate(*a, mapped, lin_rel.bias) + lin_root(x);
  const Var weight = edge_weight ? edge_weight : own_weight(graph, mapped.dtype());
  const Var y = aggregate(graph, mapped, {.reduce = aggr_, .weight = weight}) + lin_root(x);
  return lin_rel.bias ? y + lin_rel.bias : y;
}

std::string GraphConv::describe() const { return fmt::format("GraphConv({} -> {})", in_.src, out_); }

}  // namespace adj::nn
