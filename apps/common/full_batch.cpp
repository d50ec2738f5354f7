#include "epochs.h"
#include "stopwatch.h"
#include <adjoint/core/explain.h>

#include <algorithm>

namespace adj::apps {

namespace {

class FullBatch : public Epochs {
 public:
  FullBatch(const Training& training, const EdgeList* edges, optim::NonFiniteMonitor* losses)
      : training_(training),
        model_(training.node_model()),
        edges_(edges),
        losses_(losses),
        graph_(edges != nullptr ? edges->graph() : training.data.graph),
        // The host asks the device about an edge list (is it in range?) and sizes what is derived from it.
        step_([this] { return step(); }, {.capture = training.settings.capture && edges == nullptr}),
        validation_([this] { return validation(); },
                    {.capture = training.settings.capture && edges == nullptr}) {}

  Tensor train(int64_t /*done*/) override { return step_(); }
  Evaluation validate() override {
    const Tensor loss = validation_();
    return {loss, outputs_};
  }
  Tensor outputs() override {
    const NoGrad no_grad;
    model_.eval();
    const Var out = forward();
    model_.train();
    return training_.objective.output(out.value());
  }

 private:
  Var forward() { return model_(graph_, training_.features); }

  Var step() {
    if (edges_ != nullptr) {
      graph_ = Graph();  // with all that was derived from it
      graph_ = edges_->graph();
    }
    Var loss = training_.objective.loss(forward(), training_.examples.train);
    if (losses_ != nullptr) losses_->add(loss.value());
    const Var penalty = model_.penalty();  // no part of what is reported
    (penalty ? loss + reshape(penalty, loss.shape()) : loss).backward();
    training_.optimizer.step();
    return loss;
  }

  // Recorded once on a GPU, as the training step is: the outputs' tensor is then the same each time.
  Var validation() {
    const NoGrad no_grad;
    model_.eval();
    const Var out = forward();
    model_.train();
    outputs_ = training_.objective.output(out.value());
    return training_.objective.loss(out, training_.examples.val);
  }

  const Training training_;
  NodeModel& model_;
  const EdgeList* edges_;
  optim::NonFiniteMonitor* losses_;
  Graph graph_;  // of which nothing is derived at the beginning of an inductive epoch
  optim::CapturedStep step_, validation_;
  Tensor outputs_;
};

}  // namespace

std::unique_ptr<Epochs> full_batch(const Training& training, const EdgeList* edges,
                                   optim::NonFiniteMonitor* losses) {
  return std::make_unique<FullBatch>(training, edges, losses);
}

void measure_aggregation(const Training& t) {
  constexpr int kSteps = 5;
  NodeModel& model = t.node_model();
  const auto milliseconds = [&](Aggregation way) {
    compute_options().aggregation = way;
    const EdgeList edges(t.data.graph, use_of_epoch(model), feature_dtype(t.settings));
    std::vector<double> ms;
    Graph graph;
    for (int k = 0; k <= kSteps; ++k) {
      Stopwatch watch;
      watch.start();
      watch.count();
      graph = Graph();  // with all that was derived from it
      graph = edges.graph();
      t.objective.loss(model(graph, t.features), t.examples.train).backward();
      ms.push_back(watch.stop(t.data.device()));
    }
    ms.erase(ms.begin());  // which made what is kept for all
    return *std::min_element(ms.begin(), ms.end());
  };
  const double reduce = milliseconds(Aggregation::reduce), scatter = milliseconds(Aggregation::scatter);
  const bool scatters = scatter < reduce;
  compute_options().aggregation = scatters ? Aggregation::scatter : Aggregation::reduce;
  const std::string result =
      fmt::format("{}: a step takes {:.3g} ms by reduce, sorting and all, {:.3g} ms by scatter",
                  scatters ? "scatter" : "reduce", reduce, scatter);
  log_info("aggregation measured, {}", result);
  if (explaining()) explain("aggregation of every epoch's edge list", "{}", result);
}

}  // namespace adj::apps
