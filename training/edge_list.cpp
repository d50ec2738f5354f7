#include "edge_list.h"

#include "objective.h"
#include "stopwatch.h"
#include "task.h"
#include <adjoint/core/explain.h>
#include <adjoint/core/log.h>
#include <adjoint/core/random.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/index/renumber.h>

#include <algorithm>
#include <numeric>

namespace adj::training {

EdgeList::EdgeList(const Graph& graph, const detail::ListUse& use, DType features)
    : nodes_(graph.num_nodes()),
      weight_(graph.edge_weight()),
      attributes_(graph.edge_attributes()),
      use_(use) {
  const EdgeIndex edges = graph.edge_index();
  src_ = edges.src;
  dst_ = edges.dst;
  if (graph.input_order()) {
    const Tensor place = kernels::inverse_of(graph.input_order(), src_.numel());
    for (Tensor* of_edges : {&src_, &dst_, &weight_})
      if (*of_edges) *of_edges = detail::gather_edges(*of_edges, place);
    attributes_ = detail::gather_attributes(attributes_, place);
  }
  scatters_ = use_.sums > 0 && relation().scatters(features);
}

Relation EdgeList::relation() const { return Relation::from_coo(nodes_, nodes_, src_, dst_, use_); }

Graph EdgeList::graph() const {
  if (scatters_) return Graph(relation(), weight_, attributes_);
  return Graph::from_coo(nodes_, src_, dst_, weight_, attributes_);
}

namespace {

/// Use of an inductive epoch's graph: a training step and an evaluation of the model.
detail::ListUse use_of_epoch(const models::NodeModel& model) {
  const std::vector<int64_t> widths = model.summed_widths();
  if (widths.empty()) return {};
  const auto layers = std::ssize(widths);
  // The features take no gradient, so the first layer has no backward sum; nor has the evaluation.
  return {.sums = 3 * layers - 1,
          .width = std::accumulate(widths.begin(), widths.end(), int64_t{0}) / layers,
          .backward = true};
}

void measure_aggregation(const Options& options, const LearningTask& task, models::NodeModel& model) {
  constexpr int kSteps = 5;
  const Objective objective(task.examples);
  const auto milliseconds = [&](Aggregation method) {
    compute_context().aggregation = method;
    const EdgeList edges(task.data.graph, use_of_epoch(model), options.compute.dtype());
    std::vector<double> ms;
    Graph graph;
    for (int k = 0; k <= kSteps; ++k) {
      Stopwatch watch;
      watch.start();
      watch.count();
      graph = Graph();  // with all derived structures
      graph = edges.graph();
      objective.loss(model(graph, task.features), task.examples.train).backward();
      ms.push_back(watch.stop(task.data.device()));
    }
    ms.erase(ms.begin());  // warm-up: builds cached structures
    return *std::min_element(ms.begin(), ms.end());
  };
  const double reduce = milliseconds(Aggregation::reduce), scatter = milliseconds(Aggregation::scatter);
  const bool scatters = scatter < reduce;
  compute_context().aggregation = scatters ? Aggregation::scatter : Aggregation::reduce;
  const std::string result =
      fmt::format("{}: a step takes {:.3g} ms by reduce, sorting and all, {:.3g} ms by scatter",
                  scatters ? "scatter" : "reduce", reduce, scatter);
  log_info("aggregation measured, {}", result);
  if (explaining()) explain("aggregation of every epoch's edge list", "{}", result);
}

}  // namespace

EdgeList make_edge_list(const Options& options, const LearningTask& task) {
  manual_seed(static_cast<uint64_t>(options.run.seed));
  const auto model = make_model(options, task);
  const std::string& method = options.data.aggregation;
  const detail::ListUse use = use_of_epoch(*model);
  if (use.sums == 0 && (method == "scatter" || method == "measure"))
    usage_fail(
        "--aggregation {}: {} has no sums over neighbours that could use an edge list; "
        "expected auto or reduce",
        method, model->describe());
  if (method == "measure") measure_aggregation(options, task, *model);
  return EdgeList(task.data.graph, use, options.compute.dtype());
}

}  // namespace adj::training
