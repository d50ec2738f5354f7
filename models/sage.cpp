#include <adjoint/autograd/detail/edge.h>
#include <adjoint/core/option_check.h>
#include <adjoint/models/family.h>
#include <adjoint/models/stack.h>
#include <adjoint/nn/conv/sage_conv.h>

namespace adj::models {

namespace {

/// GraphSAGE (Hamilton et al. 2017): a linear map of the neighbours' mean (or maximum) plus one of the node's
/// own features.
struct Sage : Stack<nn::SAGEConv> {
  Sage(int64_t in, int64_t out, const ModelOptions& s)
      : Stack(fmt::format("SAGE-{} {}", name_of(s.aggr), dashed(widths_of(in, out, s))), Activation::relu, s),
        takes_means(s.aggr == SageAggregation::mean),
        sums_features(s.aggr != SageAggregation::pool && (!takes_means || in <= widths_of(in, out, s)[1])) {
    accept_padding();
    const nn::SAGEConvOptions options{.aggr = s.aggr == SageAggregation::mean ? Reduce::mean : Reduce::max,
                                      .project = s.aggr == SageAggregation::pool};
    if (s.aggr == SageAggregation::mean) sum_neighbors(narrower(widths_of(in, out, s)));
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
  void prepare_block(const Block& block) const override {
    if (takes_means) (void)adj::detail::mean_factors(block.relation(), parameters().front().dtype());
  }
  size_t first_transposed() const override { return sums_features ? 1 : 0; }
  PropagationMatrix propagation_matrix() const override {
    return takes_means ? PropagationMatrix::mean : PropagationMatrix::none;
  }

  bool takes_means;
  bool sums_features;  // the first layer, before it maps them
};

}  // namespace

ModelFamily sage() {
  return {"train_sage", {"sage"}, stack_options({"aggr"}), nullptr, construct<Sage>, {.hidden = 64}};
}

}  // namespace adj::models
