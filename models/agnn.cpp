#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/agnn_conv.h>
#include <adjoint/nn/linear.h>

namespace adj::models {

namespace {

/// Attention-based graph neural network (Thekumparampil et al. 2018): relu(X W0), propagated by cosine
/// attention with one temperature β per layer, then W1. The first β is fixed at 1, as in PyG's example; other
/// public implementations fix it at 0, a plain mean.
struct Agnn : NodeModel {
  Agnn(int64_t in, int64_t out, const ModelOptions& s)
      : name(fmt::format("AGNN {}-{}-{}, {} propagations", in, s.hidden, out, s.layers)),
        p(static_cast<float>(s.dropout)),
        lin1(this, "lin1", in, s.hidden, nn::LinearOptions{.activation = Activation::relu}),
        lin2(this, "lin2", s.hidden, out) {
    for (int64_t l = 0; l < s.layers; ++l) props.add(nn::AGNNConvOptions{.requires_grad = l > 0});
  }

  Var operator()(const Graph& graph, const Features& features) const override {
    return lin2(dropout(embeddings(graph, features), p));
  }
  Var embeddings(const Graph& graph, const Features& features) const override {
    Var x = lin1(dropout(features, p));
    for (auto& prop : props) x = prop(graph, x);
    return x;
  }
  void prepare(const Graph& graph) const override { prepare_loops(graph, SelfLoops::renewed); }
  std::optional<int64_t> hops() const override { return static_cast<int64_t>(props.size()); }
  std::string describe() const override { return name; }

  std::string name;
  float p;
  nn::Child<nn::Linear> lin1, lin2;
  nn::ModuleList<nn::AGNNConv> props{this, "props"};
};

}  // namespace

ModelFamily agnn() { return {"train_agnn", {"agnn"}, {}, nullptr, construct<Agnn>}; }

}  // namespace adj::models
