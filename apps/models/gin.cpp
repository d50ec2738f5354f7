#include "models.h"
#include "stack.h"

namespace adj::apps {

namespace {

/// Graph isomorphism network (Xu et al. 2019): a sum over neighbours and the node itself, then two linear
/// maps.
struct Gin : Stack<nn::GINConv<nn::MLP>> {
  Gin(int64_t in, int64_t out, const Settings& s)
      : Stack(fmt::format("GIN {}{}", dashed(widths_of(in, out, s)), s.train_eps ? " learnt eps" : ""),
              Activation::relu, s) {
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
  SaintMatrix neighbor_sums() const override { return SaintMatrix::sum; }
};

}  // namespace

Program train_gin() {
  Program program{"train_gin", "Trains a graph isomorphism network (Xu et al. 2019).", {"gin"}};
  program.defaults.hidden = 64;
  program.defaults.norm = "batch";
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add("train-eps", boost::program_options::bool_switch(&s.train_eps),
        "learn how much a node itself counts, else it counts as a neighbour");
    add_stack_options(add, s);
  };
  program.check = check_stack_options;
  program.make = [](int64_t in, int64_t out, const Settings& s) {
    return std::make_unique<nn::Model<Gin>>(in, out, s);
  };
  return program;
}

}  // namespace adj::apps
