#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/autograd/spmm.h>
#include <adjoint/nn/conv/sage_conv.h>

namespace adj::nn {

SAGEConv::SAGEConv(Widths in, int64_t out, const SAGEConvOptions& options)
    : in_(in),
      out_(out),
      options_(options),
      lin(options.project ? std::optional<Child<Linear>>(std::in_place, this, "lin", in.src, in.src, true,
                                                         Activation::relu, Initial::fan_in)
                          : std::optional<Child<Linear>>()),
      lin_l(this, "lin_l", in.src, out, options.bias, Activation::none, Initial::fan_in),
      lin_r(options.root_weight ? std::optional<Child<Linear>>(std::in_place, this, "lin_r", in.dst, out,
                                                               false, Activation::none, Initial::fan_in)
                                : std::optional<Child<Linear>>()) {}

// What an unweighted sum or mean is a product with, made once and kept with the graph. Weights that somebody
// normalised stand in its place.
const SparseMatrix* SAGEConv::matrix_of(const Graph& graph) const {
  if ((graph.edge_weight() && !graph.is_normalized()) || !is_linear()) return nullptr;
  return options_.aggr == Reduce::mean ? &graph.mean_adjacency() : &graph.adjacency();
}

// Of what neighbours come to, not yet transformed.
template <class F>
Var SAGEConv::transform(F&& neighbors, const Var& x) const {
  return finish(
      lin_r && x ? linear_sum(x, lin_r->weight, lin_l.bias, neighbors, lin_l.weight) : lin_l(neighbors()),
      Var());
}

Var SAGEConv::finish(const Var& y, const Var& of_root) const {
  const Var sum = of_root ? y + of_root : y;
  return options_.normalize ? l2_normalize(sum) : sum;
}

Var SAGEConv::operator()(const Graph& graph, const Var& x) {
  check_rows("SAGEConv", graph, x);
  const SparseMatrix* a = matrix_of(graph);
  if (a == nullptr || options_.project) return (*this)(graph.relation(), x, x);
  if (in_.src > out_) {
    const Var of_root = lin_r ? (*lin_r)(x) : Var();
    return finish(spmm(*a, linear(x, lin_l.weight), lin_l.bias), of_root);
  }
  return transform([&] { return x.requires_grad() ? spmm(*a, x) : Var(cache_.get(*a, x.value(), 1)); }, x);
}

Var SAGEConv::operator()(const Graph& graph, const Features& x) {
  if (x.is_dense()) return (*this)(graph, Var(x.dense()));
  check_rows("SAGEConv", graph, x);
  const Var of_root = lin_r ? (*lin_r)(x) : Var();
  if (lin) return finish(lin_l(aggregate(graph, (*lin)(x), {.reduce = options_.aggr})), of_root);
  ADJ_CHECK(
      is_linear(),
      "SAGEConv: sparse and quantised features are transformed before they are aggregated, which {} does "
      "not allow; expected dense ones, or project",
      name_of(options_.aggr));
  const Var mapped = linear(x, lin_l.weight);
  if (const SparseMatrix* a = matrix_of(graph)) return finish(spmm(*a, mapped, lin_l.bias), of_root);
  const Var y = aggregate(graph, mapped, {.reduce = options_.aggr});
  return finish(lin_l.bias ? y + lin_l.bias : y, of_root);
}

Var SAGEConv::operator()(const Relation& relation, const Var& x_src, const Var& x_dst) {
  check_sides("SAGEConv", relation, x_src, x_dst);
  const Var neighbor = lin ? (*lin)(x_src) : x_src;
  if (in_.src > out_ && is_linear()) {
    const Var of_root = lin_r && x_dst ? (*lin_r)(x_dst) : Var();
    const Var y = aggregate(relation, linear(neighbor, lin_l.weight), {.reduce = options_.aggr});
    return finish(lin_l.bias ? y + lin_l.bias : y, of_root);
  }
  return transform([&] { return aggregate(relation, neighbor, {.reduce = options_.aggr}); }, x_dst);
}

std::string SAGEConv::describe() const {
  return fmt::format("SAGEConv({} -> {}, {}{})", in_.src, out_, name_of(options_.aggr),
                     options_.project ? " of projected neighbours" : "");
}

}  // namespace adj::nn
