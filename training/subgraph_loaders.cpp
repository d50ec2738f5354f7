#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/data/loader/saint_loader.h>
#include <adjoint/graph/order/partition.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/mini_batches.h>
#include <adjoint/training/ranks.h>

namespace adj::training {

namespace {

LoaderOptions loading_of(const Run& run, models::NodeModel& model) {
  LoaderOptions options = run.training_batches();
  options.batch_size = 0;
  options.shuffle = false;
  options.derive = [&model](const Graph& graph) { model.prepare(graph); };
  return options;
}

/// The batches with training nodes, of any rank; others have no loss.
class SubgraphPass : public Pass<NodeBatch> {
 public:
  SubgraphPass(const Loader<SubgraphBatch>& loader, int64_t done, const RankPart* part)
      : done_(done), part_(part), loaded_(loader.epoch(done)) {
    total = 0.0;
  }
  const NodeBatch* next() override {
    batch_.reset();
    while (const std::optional<SubgraphBatch> subgraph = loaded_.next()) {
      // With weights a batch's loss estimates the overall mean; otherwise it is the mean over its nodes.
      const int64_t seeds = part_ != nullptr ? part_->sum(subgraph->seeds.numel()) : subgraph->seeds.numel();
      weight = subgraph->weight ? 1.0 : static_cast<double>(seeds);
      total += *weight;
      if (seeds == 0) continue;
      trained_ = true;
      return &batch_.emplace(NodeBatch{.graph = subgraph->graph,
                                       .blocks = {},
                                       .x = subgraph->x,
                                       .y = subgraph->y,
                                       .index = subgraph->seeds,
                                       .weight = subgraph->weight});
    }
    if (!trained_)
      fail("epoch {}: no training node in any of {} subgraphs; expected more --steps or a larger --budget",
           done_ + 1, loaded_.size());
    return nullptr;
  }

 private:
  const int64_t done_;
  const RankPart* part_;
  Prefetcher<SubgraphBatch> loaded_;
  std::optional<NodeBatch> batch_;
  bool trained_ = false;
};

template <class Subgraphs>
class SubgraphBatches : public NodeBatches {
 public:
  SubgraphBatches(const Run& run, models::NodeModel& model, Subgraphs loader)
      : NodeBatches(run, model), loader_(std::move(loader)) {}
  std::unique_ptr<Pass<NodeBatch>> pass(int64_t done) override {
    return std::make_unique<SubgraphPass>(loader_, done, run_.part());
  }

 private:
  Subgraphs loader_;
};

class ClusterLoading : public LoaderChoice {
 public:
  std::string name() const override { return "cluster"; }
  OptionList options() override {
    return {{"parts", &parts_, "N",
             "cluster: number of METIS parts (0: the dataset's nodes/part, else parts of some hundred nodes)",
             true, IntegerRange{0, kMostCounted}},
            {"parts-per-batch", &parts_per_batch_, "N", "cluster: maximum parts per step, of all ranks", true,
             IntegerRange{1, kMostCounted}}};
  }
  void check(const Settings&) const override {}
  void prepare(Dataset& data) const override { partition_for_clusters(data, parts_); }
  std::unique_ptr<Batches<NodeBatch>> batches(const Run& run, models::NodeModel& model) const override {
    LoaderOptions loading = loading_of(run, model);
    loading.batch_size = parts_per_batch_;
    loading.shuffle = true;
    return std::make_unique<SubgraphBatches<ClusterLoader>>(
        run, model,
        ClusterLoader(run.task().data.graph, run.task().store, run.objective().targets(),
                      run.examples().train, run.task().data.part, {.loading = loading}));
  }

 private:
  int64_t parts_ = 0, parts_per_batch_ = 20;
};

class SaintLoading : public LoaderChoice {
 public:
  std::string name() const override { return "saint"; }
  OptionList options() override {
    return {
        {"saint", &method_, "NAME", "saint: sampler of the subgraphs: node, edge or walk"},
        {"budget", &budget_, "N", "saint: nodes, edges or walk roots drawn per subgraph", true,
         IntegerRange{1, SaintSampling::kMostDrawn}},
        {"walk-length", &walk_length_, "N", "saint: steps of a walk", true,
         IntegerRange{0, SaintSampling::kMostDrawn - 1}},
        {"steps", &steps_, "N",
         "saint: subgraphs per epoch, of each rank (0: until as many nodes are drawn as the graph has)", true,
         IntegerRange{0, kMostCounted}},
        {"coverage", &coverage_, "N",
         "saint: estimate normalisation from subgraphs that cover all nodes N times (0: no normalisation)",
         true, IntegerRange{0, 1'000'000}}};
  }
  void check(const Settings& all) const override {
    if (const int64_t a_draw = sampling().nodes_a_draw(); budget_ > SaintSampling::kMostDrawn / a_draw)
      usage_fail("--budget {}: {} nodes per draw, expected at most {} nodes per subgraph", budget_, a_draw,
                 SaintSampling::kMostDrawn);
    if (method_ != SaintMethod::walk && all.changed("walk-length", fmt::format("{}", walk_length_)))
      usage_fail("--walk-length: requires --saint walk");
  }
  std::unique_ptr<Batches<NodeBatch>> batches(const Run& run, models::NodeModel& model) const override {
    const PropagationMatrix matrix = coverage_ > 0 ? model.propagation_matrix() : PropagationMatrix::none;
    LoaderOptions loading = loading_of(run, model);
    loading.steps = steps_;
    return std::make_unique<SubgraphBatches<SaintLoader>>(
        run, model,
        SaintLoader(run.task().data.graph, run.task().store, run.objective().targets(), run.examples().train,
                    {.sampling = sampling(), .coverage = coverage_, .matrix = matrix, .loading = loading}));
  }

 private:
  SaintSampling sampling() const {
    return {.method = method_, .budget = budget_, .walk_length = walk_length_};
  }

  SaintMethod method_ = SaintMethod::walk;
  int64_t budget_ = 1000, walk_length_ = 2, steps_ = 0, coverage_ = 50;
};

}  // namespace

void partition_for_clusters(Dataset& data, int64_t parts) {
  constexpr int64_t kNodesOfPart = 128;  // default size of a part
  if (data.part && parts == 0) return;
  if (parts == 0) parts = std::max<int64_t>(1, data.num_nodes() / kNodesOfPart);
  data.part = metis_partition(data.graph, parts);
  const PartitionSummary summary = summarize_partition(data.graph, data.part);
  log_info("{} parts of {} to {} nodes by METIS, {} of {} edges between parts", summary.parts,
           summary.smallest, summary.largest, summary.cut, data.graph.num_edges());
}

std::shared_ptr<LoaderChoice> cluster_loader() { return std::make_shared<ClusterLoading>(); }
std::shared_ptr<LoaderChoice> saint_loader() { return std::make_shared<SaintLoading>(); }

}  // namespace adj::training
