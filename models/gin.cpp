#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/linear.h>

namespace adj::models {

namespace {

/// Graph isomorphism network (Xu et al. 2019): sum over neighbours and the node itself, then two linear maps.
struct Gin : Stack<nn::GINConv<nn::MLP>> {
  Gin(int64_t in, int64_t out, const ModelOptions& s)
      : Stack(fmt::format("GIN {}{}", dashed(widths_of(in, out, s)), s.train_eps ? " learnt eps" : ""),
              Activation::relu, s) {
    accept_padding();
    const nn::GINConvOptions options{.train_eps = s.train_eps};
    std::vector<int64_t> sums = widths_of(in, out, s);
    sums.pop_back();  // before the network
    sum_neighbors(std::move(sums));
    for (int64_t l = 1; l < s.layers; ++l) {
      add_hidden(s.hidden, options, std::vector{in, s.hidden, s.hidden});
      in = s.hidden;
    }
    add_last(options, std::vector{in, s.hidden, out});
  }
  void prepare(const Graph& graph) const override {
    if (graph.is_normalized()) (void)graph.adjacency();
    if (!graph.is_normalized()) prepare_loops(graph, SelfLoops::added);
  }
  PropagationMatrix propagation_matrix() const override { return PropagationMatrix::sum; }
  size_t first_transposed() const override { return 1; }
};

/// The same with edge attributes (Hu et al., Strategies for Pre-training Graph Neural Networks, 2020): the
/// sum is of relu(neighbour + mapped attributes).
struct Gine : Stack<nn::GINEConv<nn::MLP>> {
  Gine(int64_t in, int64_t out, const ModelOptions& s)
      : Stack(fmt::format("GINE {}{}", dashed(widths_of(in, out, s)), s.train_eps ? " learnt eps" : ""),
              Activation::relu, s) {
    const nn::GINEConvOptions options{.train_eps = s.train_eps, .edge_dim = s.edge_dim};
    for (int64_t l = 1; l < s.layers; ++l) {
      add_hidden(s.hidden, in, options, std::vector{in, s.hidden, s.hidden});
      in = s.hidden;
    }
    add_last(in, options, std::vector{in, s.hidden, out});
  }
};

std::unique_ptr<Model> make_gin(int64_t in, int64_t out, const ModelOptions& o) {
  return o.model == "gine" ? construct<Gine>(in, out, o) : construct<Gin>(in, out, o);
}

}  // namespace

ModelFamily gin() {
  return {"train_gin", {"gin", "gine"}, stack_options({"train-eps"}),
          nullptr,     make_gin,        {.hidden = 64, .norm = Norm::batch}};
}

}  // namespace adj::models
