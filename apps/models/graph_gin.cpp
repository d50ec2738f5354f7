#include "../common/graphs.h"
#include "models.h"

namespace adj::apps {

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
  GraphGin(int64_t in, int64_t out, const Settings& s)
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

}  // namespace

Program train_graph_gin() {
  Program program{"train_graph_gin",
                  "Trains a graph isomorphism network to classify graphs (Xu et al. 2019).",
                  {"graph-gin"}};
  program.defaults.split = "all";
  program.defaults.epochs = 350;
  program.defaults.layers = 4;
  program.defaults.hidden = 32;
  program.defaults.weight_decay = 0.0;
  program.defaults.batch_size = 32;
  program.defaults.iterations = 50;
  program.defaults.lr_halve = 50;
  program.options = [](auto add, Settings& s) {
    add("train-eps", boost::program_options::bool_switch(&s.train_eps),
        "learn how much a node itself counts, else it counts as a neighbour");
    add("pool", with_default(s.pool, "WAY"), "what a graph is made of its nodes by: sum, mean or max");
    add_graph_options(add, s);
  };
  program.check = [](const Settings& s) {
    expect_one_of("pool", s.pool, {"sum", "mean", "max"});
    check_graph_options(s);
  };
  program.make = [](int64_t in, int64_t out, const Settings& s) {
    return std::make_unique<nn::Model<GraphGin>>(in, out, s);
  };
  learn_graphs(program);
  return program;
}

}  // namespace adj::apps
