#include "models.h"
#include "stack.h"

namespace adj::apps {

namespace {

/// GraphSAGE (Hamilton et al. 2017): a linear map of the neighbours' mean (or maximum) beside one
/// of the node's own features.
struct Sage : Stack<nn::SAGEConv> {
  Sage(int64_t in, int64_t out, const Settings& s)
      : Stack(fmt::format("SAGE-{} {}", s.aggr, dashed(widths_of(in, out, s))), Activation::relu, s),
        takes_means(s.aggr == "mean") {
    const nn::SAGEConvOptions options{.aggr = s.aggr == "mean" ? Reduce::mean : Reduce::max,
                                      .project = s.aggr == "pool"};
    if (s.aggr == "max") need_dense();
    if (s.aggr == "mean") sum_neighbors(narrower(widths_of(in, out, s)));
    for (int64_t l = 1; l < s.layers; ++l) {
      add_hidden(s.hidden, in, s.hidden, options);
      in = s.hidden;
    }
    add_last(in, out, options);
  }
  void prepare(const Graph& graph) const override {
    if (takes_means && (graph.is_normalized() || !graph.edge_weight())) (void)graph.mean_adjacency();
    NodeModel::prepare(graph);
  }
  SaintMatrix neighbor_sums() const override { return takes_means ? SaintMatrix::mean : SaintMatrix::none; }

  bool takes_means;
};

}  // namespace

Program train_sage() {
  Program program{
      "train_sage", "Trains GraphSAGE (Hamilton et al. 2017) on the whole graph or mini-batches.", {"sage"}};
  program.defaults.hidden = 64;
  program.loaders = {"neighbor", "cluster", "saint"};
  program.options = [](auto add, Settings& s) {
    add("aggr", with_default(s.aggr, "NAME"), "of neighbours: mean, max or pool");
    add_stack_options(add, s);
  };
  program.check = [](const Settings& s) {
    expect_one_of("aggr", s.aggr, {"mean", "max", "pool"});
    check_stack_options(s);
  };
  program.make = [](int64_t in, int64_t out, const Settings& s) {
    return std::make_unique<nn::Model<Sage>>(in, out, s);
  };
  return program;
}

}  // namespace adj::apps
