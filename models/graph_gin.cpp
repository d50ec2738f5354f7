#include "family.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/segment.h>
#include <adjoint/core/option_check.h>
#include <adjoint/nn/gin_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm.h>

namespace adj::models {

namespace {

/// Of one layer: linear, batch norm, relu, linear.
struct Network : nn::Module {
  Network(int64_t in, int64_t hidden)
      : first(this, "first", in, hidden),
        norm(this, "norm", hidden),
        second(this, "second", hidden, hidden) {}
  Var operator()(const Var& x) { return second(norm(first(x), {.activation = Activation::relu})); }
  std::string describe() const override { return "Network"; }
  nn::Child<nn::Linear> first;
  nn::Child<nn::BatchNorm> norm;
  nn::Child<nn::Linear> second;
};

/// Graph isomorphism network (Xu et al. 2019, section 4 and eq. 4.2): what each layer makes of the nodes,
/// their features among it, is pooled over each graph and read out by a linear map of its own; a graph's
/// logits are the sum of those, each under dropout.
struct GraphGin : GraphModel {
  GraphGin(int64_t in, int64_t out, const ModelOptions& s)
      : pool_(s.pool),
        p_(static_cast<float>(s.dropout)),
        name_(fmt::format("GIN {}-{}x{}-{} {}{}", in, s.layers, s.hidden, out, s.pool,
                          s.train_eps ? " learnt eps" : "")) {
    readouts_.add(in, out);
    for (int64_t l = 0; l < s.layers; ++l) {
      convs_.add(nn::GINConvOptions{.train_eps = s.train_eps}, l == 0 ? in : s.hidden, s.hidden);
      norms_.add(s.hidden);
      readouts_.add(s.hidden, out);
    }
  }

  Var operator()(const Graph& graph, const Tensor& offsets, const Features& features) override {
    Var h(features.to_dense().to(parameters().front().dtype()));
    Var out = read_out(0, h, offsets);
    for (size_t l = 0; l < convs_.size(); ++l) {
      h = norms_[l](convs_[l](graph, h), {.activation = Activation::relu});
      out = out + read_out(l + 1, h, offsets);
    }
    return out;
  }
  std::string describe() const override { return name_; }

 private:
  Var read_out(size_t l, const Var& h, const Tensor& offsets) {
    const Var pooled = pool_ == "mean"  ? segment_mean(h, offsets)
                       : pool_ == "max" ? segment_max(h, offsets)
                                        : segment_sum(h, offsets);
    const Var y = readouts_[l](pooled);
    return training() ? dropout(y, p_) : y;
  }

  std::string pool_;
  float p_;
  std::string name_;
  nn::ModuleList<nn::GINConv<Network>> convs_{this, "convs"};
  nn::ModuleList<nn::BatchNorm> norms_{this, "norms"};
  nn::ModuleList<nn::Linear> readouts_{this, "readouts"};
};

void check(const ModelOptions& o) {
  expect_one_of("pool", o.pool, {"sum", "mean", "max"});
  expect_one_of("node-features", o.node_features, {"file", "constant", "degree"});
}

std::unique_ptr<Model> make(int64_t in, int64_t out, const ModelOptions& o) {
  return std::make_unique<nn::Model<GraphGin>>(in, out, o);
}

}  // namespace

ModelFamily graph_gin() {
  return {"train_graph_gin", {"graph-gin"}, {"train-eps", "pool", "node-features"}, check, make};
}

}  // namespace adj::models
