#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/mini_batches.h>
#include <adjoint/training/padded_batches.h>

#include <algorithm>
#include <memory>

namespace adj::training {

namespace {

/// Of batches with features and plans, or for PaddedBatches.
NeighborLoader loader_of(const Run& run, const models::NodeModel& model, const NeighborSampling& sampling,
                         bool features, bool plans) {
  LoaderOptions options = run.training_batches();
  options.derive_block = [&model](const Block& block) { model.prepare_block(block); };
  return {run.task().data.graph, run.task().store, run.objective().targets(), run.examples().train,
          NeighborLoaderOptions{.sampling = sampling,
                                .loading = std::move(options),
                                .first_transposed = model.first_transposed(),
                                .features = features,
                                .plans = plans,
                                .rows = model.sums_block_rows()}};
}

class NeighborBatches : public NodeBatches {
 public:
  NeighborBatches(const Run& run, models::NodeModel& model, const NeighborSampling& sampling)
      : NodeBatches(run, model),
        padded_(
            PaddedBatches::make(run, model, [&] { return loader_of(run, model, sampling, false, false); })),
        loader_(loader_of(run, model, sampling, !padded_ || !PaddedBatches::gathers(run), !padded_)) {}

  bool places() const override { return padded_ != nullptr; }
  std::unique_ptr<Pass<NodeBatch>> pass(int64_t done) override {
    // The loss is over the seeds of a batch on all ranks.
    const int64_t seeds = loader_.num_seeds(), size = loader_.options().batch_size;
    const auto begun = std::make_shared<int64_t>(0);
    return loaded_pass<NodeBatch>(loader_, done, [=, this](const NeighborBatch& batch) {
      const int64_t count = std::min(size, seeds - *begun);
      *begun += count;
      const auto weight = static_cast<double>(count) / static_cast<double>(seeds);
      if (padded_) return std::pair(padded_->place(batch), weight);
      return std::pair(NodeBatch{.graph = {}, .blocks = batch.blocks, .x = batch.x, .y = batch.y}, weight);
    });
  }

 private:
  std::unique_ptr<PaddedBatches> padded_;
  NeighborLoader loader_;
};

}  // namespace

std::vector<int64_t> fanouts_of(const std::string& text) {
  std::vector<int64_t> fanouts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto number = number_in<int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!number || *number > kMostCounted || (*number < 1 && *number != -1))
      usage_fail("--fanouts: expected numbers of 1 or more, or -1, as 15,10,5; got '{}'", text);
    fanouts.push_back(*number);
    begin = end + 1;
  }
  return fanouts;
}

OptionList NeighborLoading::options() {
  return {{"fanouts", &fanouts_, "LIST",
           "neighbor: in-edges sampled per node and hop, from the training nodes outwards, as 15,10,5 "
           "(-1: all); one number applies to every layer"},
          {"fanouts-per", &per_, "WHAT",
           "neighbor: what a fan-out bounds: the in-edges of a node, or those of each relation of a node"},
          {"replace", &replace_, "", "neighbor: sample with replacement"},
          {"labor", &labor_, "",
           "neighbor: sample by LABOR, which shares samples between nodes with common neighbours"},
          {"weighted-sampling", &weighted_, "", "neighbor: sample in proportion to the edge weights"}};
}

void NeighborLoading::check(const Settings& all) const {
  (void)sampling(all.model.layers);
  if (labor_ && (replace_ || weighted_))
    usage_fail("--labor: conflicts with --{}", replace_ ? "replace" : "weighted-sampling");
  if (per_ == SamplingUnit::relation && !all.typed())
    usage_fail("--fanouts-per relation: {} has one relation, expected node", all.program());
  if (weighted_ && all.data.edge_weights == EdgeUse::ignore)
    usage_fail("--weighted-sampling: conflicts with --edge-weights ignore");
}

void NeighborLoading::check_data(const Dataset& data, const std::string& file) const {
  if (weighted_ && !data.graph.edge_weight())
    data_fail("{}: edges/weight: missing, --weighted-sampling needs weights", file);
}

NeighborSampling NeighborLoading::sampling(int64_t layers) const {
  std::vector<int64_t> fanouts = fanouts_of(fanouts_);
  if (fanouts.size() == 1) fanouts.resize(static_cast<size_t>(layers), fanouts.front());
  if (std::ssize(fanouts) != layers)
    usage_fail("--fanouts: {} numbers, expected one, or one for each of {} layers", fanouts.size(), layers);
  return {.fanouts = std::move(fanouts),
          .replace = replace_,
          .weighted = weighted_,
          .labor = labor_,
          .per_relation = per_ == SamplingUnit::relation};
}

NeighborSampling NeighborLoading::sampling(const Run& run) const {
  NeighborSampling chosen = sampling(run.settings().model.layers);
  chosen.keeps_weights = run.task().preprocessing.edges.weights == models::EdgeWeights::used;
  return chosen;
}

std::unique_ptr<Batches<NodeBatch>> NeighborLoading::batches(const Run& run, models::NodeModel& model) const {
  if (run.settings().typed())
    log_info(
        "fan-outs {} are {}", fanouts_,
        per_ == SamplingUnit::relation ? "of each relation of a node" : "of a node, over all its relations");
  return std::make_unique<NeighborBatches>(run, model, sampling(run));
}

std::shared_ptr<LoaderChoice> neighbor_loader() { return std::make_shared<NeighborLoading>(); }

}  // namespace adj::training
