#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/nn/conv/sage_conv.h>

namespace adj::nn {

SAGEConv::SAGEConv(Widths in, int64_t out, const SAGEConvOptions& options)
    : in_(in),
      out_(out),
      options_(options),
      lin(options.project ? std::optional<Child<Linear>>(
                                std::in_place, this, "lin", in.src, in.src,
                                LinearOptions{.activation = Activation::relu, .initial = Initial::fan_in})
                          : std::nullopt),
      lin_l(this, "lin_l", in.src, out, LinearOptions{.bias = options.bias, .initial = Initial::fan_in}),
      lin_r(options.root_weight
                ? std::optional<Child<Linear>>(std::in_place, this, "lin_r", in.dst, out,
                                               LinearOptions{.bias = false, .initial = Initial::fan_in})
                : std::nullopt) {}

// Matrix of an unweighted sum or mean, built once and kept with the graph; or the weights of a normalised
// graph.
const SparseMatrix* SAGEConv::matrix_of(const Graph& graph) const {
  if ((graph.edge_weight() && !graph.is_normalized()) || !is_linear()) return nullptr;
  return options_.aggr == Reduce::mean ? &graph.mean_adjacency() : &graph.adjacency();
}

// Takes the reduction over neighbours before W_l.
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

Var SAGEConv::operator()(const Structure& structure, const Sides& features) const {
  if (const Features* x = features.compact("SAGEConv", structure); x != nullptr && (lin || is_linear()))
    return of_product(*structure.graph(), *x);
  const Sides x = features.dense(*this).match("SAGEConv", structure);
  const SparseMatrix* a = structure.graph() && x.same() && !lin ? matrix_of(*structure.graph()) : nullptr;
  const bool linear_first = in_.src > out_ && is_linear();
  if (a != nullptr && !linear_first) return transform([&] { return x.propagated(*a); }, x.dst);
  const Var neighbor = lin ? (*lin)(x.src) : x.src;
  if (!linear_first)
    return transform([&] { return aggregate(structure.relation(), neighbor, {.reduce = options_.aggr}); },
                     x.dst);
  const Var of_root = lin_r && x.dst ? (*lin_r)(x.dst) : Var(), mapped = linear(neighbor, lin_l.weight);
  if (a != nullptr) return finish(aggregate(*a, mapped, lin_l.bias), of_root);
  const Var y = aggregate(structure.relation(), mapped, {.reduce = options_.aggr});
  return finish(lin_l.bias ? y + lin_l.bias : y, of_root);
}

Var SAGEConv::of_product(const Graph& graph, const Features& x) const {
  const Var of_root = lin_r ? (*lin_r)(x) : Var();
  if (lin) return finish(lin_l(aggregate(graph, (*lin)(x), {.reduce = options_.aggr})), of_root);
  const Var mapped = linear(x, lin_l.weight);
  if (const SparseMatrix* a = matrix_of(graph)) return finish(aggregate(*a, mapped, lin_l.bias), of_root);
  const Var y = aggregate(graph, mapped, {.reduce = options_.aggr});
  return finish(lin_l.bias ? y + lin_l.bias : y, of_root);
}

std::string SAGEConv::describe() const {
  return fmt::format("SAGEConv({} -> {}, {}{})", in_.src, out_, name_of(options_.aggr),
                     options_.project ? " of projected neighbours" : "");
}

}  // namespace adj::nn
