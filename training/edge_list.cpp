#include <adjoint/core/explain.h>
#include <adjoint/core/log.h>
#include <adjoint/core/random.h>
#include <adjoint/graph/detail/listed_edges.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/plan/aggregation_cost.h>
#include <adjoint/training/edge_list.h>
#include <adjoint/training/objective.h>
#include <adjoint/training/stopwatch.h>
#include <adjoint/training/task.h>

#include <algorithm>
#include <numeric>

namespace adj::training {

EdgeList::EdgeList(const Graph& graph, const models::NodeModel& model, DType features)
    : nodes_(graph.num_nodes()), widths_(model.summed_widths()) {
  const detail::ListedEdges edges = detail::listed_edges(graph);
  src_ = edges.ends.src;
  dst_ = edges.ends.dst;
  weight_ = edges.weight;
  attributes_ = edges.attributes;
  scatters_ = !widths_.empty() && relation().scatters(features);
}

// An epoch is a training step and an evaluation. The features take no gradient, so the first layer has no
// backward sum; nor has the evaluation.
Relation EdgeList::relation() const {
  kernels::ListUse use;
  if (const auto layers = std::ssize(widths_); layers > 0)
    use = {.sums = 3 * layers - 1,
           .width = std::accumulate(widths_.begin(), widths_.end(), int64_t{0}) / layers,
           .backward = true};
  return detail::list_for(use, nodes_, nodes_, src_, dst_);
}

Graph EdgeList::graph() const {
  if (scatters_) return Graph(relation(), weight_, attributes_);
  return Graph::from_coo(nodes_, src_, dst_, weight_, attributes_);
}

namespace {

void measure_aggregation(const Options& options, const LearningTask& task, models::NodeModel& model) {
  constexpr int kSteps = 5;
  const Objective objective(task.examples);
  const auto milliseconds = [&](Aggregation method) {
    compute_context().aggregation = method;
    const EdgeList edges(task.data.graph, model, options.compute.dtype());
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
      fmt::format("{}: a step takes {:.3g} ms by reduce, including the sort, {:.3g} ms by scatter",
                  scatters ? "scatter" : "reduce", reduce, scatter);
  log_info("aggregation measured, {}", result);
  if (explaining()) explain("aggregation of every epoch's edge list", "{}", result);
}

}  // namespace

EdgeList make_edge_list(const Options& options, const LearningTask& task) {
  manual_seed(static_cast<uint64_t>(options.run.seed));
  const auto model = make_model(options, task);
  using enum AggregationMethod;
  const AggregationMethod method = options.data.aggregation;
  if (model->summed_widths().empty() && (method == scatter || method == measure))
    usage_fail(
        "--aggregation {}: {} has no sums over neighbours that could use an edge list; "
        "expected auto or reduce",
        name_of(method), model->describe());
  if (method == measure) measure_aggregation(options, task, *model);
  return EdgeList(task.data.graph, *model, options.compute.dtype());
}

}  // namespace adj::training
