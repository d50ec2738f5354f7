#pragma once

#include <adjoint/training/feature_place.h>
#include <adjoint/training/run.h>

namespace adj::training {

/// Base class of batches of which an evaluation is computed in one pass without capture.
template <class Batch>
class SampledBatches : public Batches<Batch> {
 public:
  /// Throws UsageError for --evaluation layers if the model cannot run exactly layer by layer.
  SampledBatches(const Run& run, models::Model& model) : run_(run), evaluated_(model) {
    if (run.settings().batches.evaluation == EvaluationMethod::layers) require_layers(model);
  }
  Evaluation validate() override {
    const NoGrad no_grad;
    const Var out(in_evaluation([&] { return computed({}); }));
    return {run_.objective().loss(out, run_.examples().val).value(), run_.objective().output(out.value())};
  }
  Tensor outputs() override { return SampledBatches::outputs_for({}); }  // models of graphs override that
  Tensor outputs_for(const Features& x) override {
    return run_.objective().output(in_evaluation([&] { return computed(x); }));
  }

 protected:
  /// Raw outputs for all examples, without gradients, with the features `x` instead of the task's, unless it
  /// is absent.
  virtual Tensor computed(const Features& x) = 0;
  /// compute() in evaluation mode, without gradients.
  template <class F>
  Tensor in_evaluation(F compute) {
    const NoGrad no_grad;
    evaluated_.eval();
    const Tensor out = compute();
    evaluated_.train();
    return out;
  }

  const Run& run_;

 private:
  models::Model& evaluated_;
};

/// [N, outputs] of a model for all nodes, full-batch or layer by layer (--evaluation); with features `x`
/// full-batch.
Tensor over_all_nodes(const Run& run, models::NodeModel& model, const Features& x = {});
/// [N, width] in evaluation mode; absent for a model of one layer or absent features.
Tensor embeddings_of(models::NodeModel& model, const Graph& graph, const Features& x);

/// Base class of mini-batches of a model of nodes.
class NodeBatches : public SampledBatches<NodeBatch> {
 public:
  NodeBatches(const Run& run, models::NodeModel& model) : SampledBatches(run, model), model_(model) {}
  Tensor embeddings() override { return embeddings_of(model_, run_.task().data.graph, run_.task().features); }

 private:
  Tensor computed(const Features& x) override { return over_all_nodes(run_, model_, x); }

  models::NodeModel& model_;
};

/// An epoch of a loader. convert(loaded) is a batch and its weight.
template <class Batch, class Loaded, class Convert>
class LoadedPass : public Pass<Batch> {
 public:
  LoadedPass(const Loader<Loaded>& loader, int64_t done, Convert convert)
      : loaded_(loader.epoch(done)), convert_(std::move(convert)) {}
  const Batch* next() override {
    batch_.reset();
    item_.reset();
    item_ = loaded_.next();
    if (!item_) return nullptr;
    auto converted = convert_(*item_);
    this->weight = converted.second;
    return &batch_.emplace(std::move(converted.first));
  }

 private:
  Prefetcher<Loaded> loaded_;
  const Convert convert_;
  std::optional<Loaded> item_;
  std::optional<Batch> batch_;
};
/// A LoadedPass of the epoch after `done` ones; `Loaded` and `Convert` are deduced.
template <class Batch, class Loaded, class Convert>
std::unique_ptr<Pass<Batch>> loaded_pass(const Loader<Loaded>& loader, int64_t done, Convert convert) {
  return std::make_unique<LoadedPass<Batch, Loaded, Convert>>(loader, done, std::move(convert));
}

/// An epoch of one batch.
template <class Batch>
class SinglePass : public Pass<Batch> {
 public:
  explicit SinglePass(Batch batch) : batch_(std::move(batch)) {}
  const Batch* next() override { return std::exchange(left_, false) ? &batch_ : nullptr; }

 private:
  const Batch batch_;
  bool left_ = true;
};

}  // namespace adj::training
