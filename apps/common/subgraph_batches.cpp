#include "batch_epochs.h"
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/data/loader/saint_loader.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/kernels/elementwise/elementwise.h>

namespace adj::apps {

namespace {

constexpr int64_t kNodesOfPart = 128;  // where nobody says how many parts there are to be

LoaderOptions loading_of(const Training& training) {
  return {.seed = static_cast<uint64_t>(training.seed),
          .workers = num_workers(training.settings),
          .derive = [&model = training.node_model()](const Graph& graph) { model.prepare(graph); }};
}

ClusterLoader clusters_of(const Training& t) {
  LoaderOptions loading = loading_of(t);
  loading.batch_size = t.settings.parts_per_batch;
  loading.shuffle = true;
  return {t.data.graph, t.source, t.objective.targets(), t.examples.train, t.data.part, {.loading = loading}};
}

SaintLoader saint_of(const Training& t) {
  const Settings& s = t.settings;
  const SaintMatrix matrix = s.coverage > 0 ? t.node_model().neighbor_sums() : SaintMatrix::none;
  LoaderOptions loading = loading_of(t);
  loading.steps = s.steps;
  // Of the programs' layers GCN's alone read weights of the data.
  const bool reads_weights = matrix == SaintMatrix::none || matrix == SaintMatrix::gcn;
  return {reads_weights ? t.data.graph : t.data.graph.with_edge_weight({}),
          t.source,
          t.objective.targets(),
          t.examples.train,
          {.sampling = {.way = s.saint == "node"   ? SaintWay::node
                               : s.saint == "edge" ? SaintWay::edge
                                                   : SaintWay::walk,
                        .budget = s.budget,
                        .walk_length = s.walk_length},
           .coverage = s.coverage,
           .matrix = matrix,
           .loading = loading}};
}

/// A step for each batch that has training nodes; one without has no loss.
template <class Loader>
class SubgraphBatches : public BatchEpochs {
 public:
  SubgraphBatches(const Training& training, Loader loader, optim::NonFiniteMonitor* losses)
      : BatchEpochs(training, losses), loader_(std::move(loader)) {}

  Tensor train(int64_t done) override {
    Tensor total = Tensor::zeros({}, DType::f32, training_.data.device());
    double counted = 0.0;
    bool trained = false;
    for (const SubgraphBatch& batch : loader_.epoch(done)) {
      // With weights each batch's loss is an estimate of the mean; without, its own nodes' mean.
      const double share = batch.weight ? 1.0 : static_cast<double>(batch.seeds.numel());
      counted += share;
      if (batch.seeds.numel() == 0) continue;
      trained = true;
      Var loss =
          training_.objective.loss_of_batch(model_(batch.graph, batch.x), batch.y, batch.seeds, batch.weight);
      kernels::linear_combination({.a = total, .beta = share, .b = loss.value(), .y = total});
      loss.backward();
      training_.optimizer.step();
    }
    if (!trained)
      fail("epoch {}: no training node in any of {} subgraphs; expected more --steps or a larger --budget",
           done + 1, loader_.size());
    kernels::linear_combination({.alpha = 1.0 / counted, .a = total, .y = total});
    if (losses_ != nullptr) losses_->add(total);
    return total;
  }

 private:
  Loader loader_;
};

}  // namespace

void partition_for_clusters(Dataset& data, const Settings& settings) {
  if (settings.loader != "cluster" || (data.part && settings.parts == 0)) return;
  const int64_t parts =
      settings.parts > 0 ? settings.parts : std::max<int64_t>(1, data.num_nodes() / kNodesOfPart);
  data.part = metis_partition(data.graph, parts);
  const PartitionSummary made = summarize_partition(data.graph, data.part);
  log_info("{} parts of {} to {} nodes by METIS, {} of {} edges between parts", made.parts, made.smallest,
           made.largest, made.cut, data.graph.num_edges());
}

std::unique_ptr<Epochs> cluster_batches(const Training& training, optim::NonFiniteMonitor* losses) {
  return std::make_unique<SubgraphBatches<ClusterLoader>>(training, clusters_of(training), losses);
}

std::unique_ptr<Epochs> saint_batches(const Training& training, optim::NonFiniteMonitor* losses) {
  return std::make_unique<SubgraphBatches<SaintLoader>>(training, saint_of(training), losses);
}

}  // namespace adj::apps
