#include "batch_epochs.h"
#include "loader.h"
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/data/loader/neighbor_loader.h>

namespace adj::training {

namespace {

class NeighborEpochs : public BatchEpochs {
 public:
  NeighborEpochs(const Run& run, models::NodeModel& model, NodeStep step, NeighborSampling sampling)
      : BatchEpochs(run, model, std::move(step)),
        loader_(run.task().data.graph, run.task().store, run.objective().targets(), run.examples().train,
                {.sampling = std::move(sampling), .loading = run.training_batches()}) {}

  Tensor train(int64_t done) override {
    Tensor total = no_loss();
    for (const NeighborBatch& batch : loader_.epoch(done)) {
      const Var loss = step_({.graph = {}, .blocks = batch.blocks, .x = batch.x, .y = batch.y});
      add_loss(total, static_cast<double>(batch.size()) / static_cast<double>(loader_.num_seeds()), loss);
    }
    return total;
  }

 private:
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
          {"replace", &replace_, "", "neighbor: sample with replacement"},
          {"labor", &labor_, "",
           "neighbor: sample by LABOR, which shares samples between nodes with common neighbours"},
          {"weighted-sampling", &weighted_, "", "neighbor: sample in proportion to the edge weights"}};
}

void NeighborLoading::check(const Settings& all) const {
  (void)sampling(all.model.layers);
  if (labor_ && (replace_ || weighted_))
    usage_fail("--labor: conflicts with --{}", replace_ ? "replace" : "weighted-sampling");
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
  return {.fanouts = std::move(fanouts), .replace = replace_, .weighted = weighted_, .labor = labor_};
}

std::unique_ptr<Epochs> NeighborLoading::epochs(const Run& run, models::NodeModel& model,
                                                NodeStep step) const {
  return std::make_unique<NeighborEpochs>(run, model, std::move(step), sampling(run.settings().model.layers));
}

std::shared_ptr<LoaderChoice> neighbor_loader() { return std::make_shared<NeighborLoading>(); }

}  // namespace adj::training
