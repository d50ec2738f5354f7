#include "batch_epochs.h"
#include "loader.h"
#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/data/loader/saint_loader.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::training {

namespace {

constexpr int64_t kMany = 1'000'000'000;

SubgraphLoading loading_of(const Run& run, models::NodeModel& model) {
  return {.workers = run.workers(), .derive = [&model](const Graph& graph) { model.prepare(graph); }};
}

/// A step for each batch that has training nodes; one without has no loss.
template <class Batches>
class SubgraphEpochs : public BatchEpochs {
 public:
  SubgraphEpochs(const Run& run, models::NodeModel& model, NodeStep step, Batches batches)
      : BatchEpochs(run, model, std::move(step)), batches_(std::move(batches)) {}

  Tensor train(int64_t done) override {
    Tensor total = Tensor::zeros({}, DType::f32, run_.task().data.device());
    double counted = 0.0;
    bool trained = false;
    for (const SubgraphBatch& batch : batches_.epoch(done)) {
      // With weights each batch's loss is an estimate of the mean; without, its own nodes' mean.
      const double share = batch.weight ? 1.0 : static_cast<double>(batch.seeds.numel());
      counted += share;
      if (batch.seeds.numel() == 0) continue;
      trained = true;
      const Var loss = step_({.graph = batch.graph,
                              .blocks = {},
                              .x = batch.x,
                              .y = batch.y,
                              .index = batch.seeds,
                              .weight = batch.weight});
      kernels::linear_combination({.a = total, .beta = share, .b = loss.value(), .y = total});
    }
    if (!trained)
      fail("epoch {}: no training node in any of {} subgraphs; expected more --steps or a larger --budget",
           done + 1, batches_.size());
    kernels::linear_combination({.alpha = 1.0 / counted, .a = total, .y = total});
    return total;
  }

 private:
  Batches batches_;
};

class ClusterLoading : public Loader {
 public:
  std::string name() const override { return "cluster"; }
  OptionList options() override {
    return {
        {"parts", &parts_, "N",
         "cluster: METIS makes so many (0: the dataset's own nodes/part, else parts of some hundred nodes)"},
        {"parts-per-batch", &parts_per_batch_, "N", "cluster: parts of a step, at most"}};
  }
  void check(const Options&) const override {
    expect_integer("parts", parts_, 0, kMany);
    expect_integer("parts-per-batch", parts_per_batch_, 1, kMany);
  }
  void prepare(Dataset& data) const override { partition_for_clusters(data, parts_); }
  std::unique_ptr<Epochs> epochs(const Run& run, models::NodeModel& model, NodeStep step) const override {
    return std::make_unique<SubgraphEpochs<ClusterLoader>>(
        run, model, std::move(step),
        ClusterLoader(run.task().data.graph, run.task().store, run.objective().targets(),
                      run.examples().train, run.task().data.part,
                      {.parts_per_batch = parts_per_batch_,
                       .shuffle = true,
                       .seed = run.seed(),
                       .loading = loading_of(run, model)}));
  }

 private:
  int64_t parts_ = 0, parts_per_batch_ = 20;
};

class SaintLoading : public Loader {
 public:
  std::string name() const override { return "saint"; }
  OptionList options() override {
    return {{"saint", &method_, "NAME", "saint: subgraphs are drawn by node, edge or walk"},
            {"budget", &budget_, "N", "saint: nodes, edges or roots of walks that are drawn"},
            {"walk-length", &walk_length_, "N", "saint: steps of a walk"},
            {"steps", &steps_, "N",
             "saint: subgraphs of an epoch (0: as many as draw as many nodes as there are)"},
            {"coverage", &coverage_, "N",
             "saint: normalise by subgraphs that hold so many times all nodes (0: do not normalise)"}};
  }
  void check(const Options& all) const override {
    expect_one_of("saint", method_, {"node", "edge", "walk"});
    expect_integer("budget", budget_, 1, SaintSampling::kMostDrawn);
    expect_integer("walk-length", walk_length_, 0, SaintSampling::kMostDrawn - 1);
    if (const int64_t a_draw = sampling().nodes_a_draw(); budget_ > SaintSampling::kMostDrawn / a_draw)
      throw UsageError(fmt::format("--budget {}: of {} nodes each, expected {} nodes of a subgraph at most",
                                   budget_, a_draw, SaintSampling::kMostDrawn));
    expect_integer("steps", steps_, 0, kMany);
    expect_integer("coverage", coverage_, 0, 1'000'000);
    int64_t length = walk_length_;
    if (method_ != "walk" &&
        all.changed({.name = "walk-length", .value = &length, .placeholder = {}, .help = {}}))
      throw UsageError("--walk-length: expected --saint walk beside it");
  }
  std::unique_ptr<Epochs> epochs(const Run& run, models::NodeModel& model, NodeStep step) const override {
    const SaintMatrix matrix = coverage_ > 0 ? model.neighbor_sums() : SaintMatrix::none;
    // Of the programs' layers GCN's alone read weights of the data.
    const bool reads_weights = matrix == SaintMatrix::none || matrix == SaintMatrix::gcn;
    const Graph& graph = run.task().data.graph;
    return std::make_unique<SubgraphEpochs<SaintLoader>>(
        run, model, std::move(step),
        SaintLoader(reads_weights ? graph : graph.with_edge_weight({}), run.task().store,
                    run.objective().targets(), run.examples().train,
                    {.sampling = sampling(),
                     .steps = steps_,
                     .coverage = coverage_,
                     .matrix = matrix,
                     .seed = run.seed(),
                     .loading = loading_of(run, model)}));
  }

 private:
  SaintSampling sampling() const {
    return {.way = method_ == "node"   ? SaintWay::node
                   : method_ == "edge" ? SaintWay::edge
                                       : SaintWay::walk,
            .budget = budget_,
            .walk_length = walk_length_};
  }

  std::string method_ = "walk";
  int64_t budget_ = 1000, walk_length_ = 2, steps_ = 0, coverage_ = 50;
};

}  // namespace

void partition_for_clusters(Dataset& data, int64_t parts) {
  constexpr int64_t kNodesOfPart = 128;  // where nobody says how many parts there are to be
  if (data.part && parts == 0) return;
  if (parts == 0) parts = std::max<int64_t>(1, data.num_nodes() / kNodesOfPart);
  data.part = metis_partition(data.graph, parts);
  const PartitionSummary made = summarize_partition(data.graph, data.part);
  log_info("{} parts of {} to {} nodes by METIS, {} of {} edges between parts", made.parts, made.smallest,
           made.largest, made.cut, data.graph.num_edges());
}

std::shared_ptr<Loader> cluster_loader() { return std::make_shared<ClusterLoading>(); }
std::shared_ptr<Loader> saint_loader() { return std::make_shared<SaintLoading>(); }

}  // namespace adj::training
