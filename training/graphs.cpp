#include <adjoint/core/option_check.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/splits.h>
#include <adjoint/training/graphs.h>
#include <adjoint/training/mini_batches.h>

#include <algorithm>
#include <cmath>

namespace adj::training {

namespace {

GraphLoader loader_of(const Dataset& data, const Features& x, const Tensor& labels, const Tensor& which,
                      LoaderOptions options) {
  return {data.graph, data.graph_offsets, make_feature_store(x), labels, which, std::move(options)};
}

/// Loads each of the graphs `which` once.
GraphLoader each_once(const Dataset& data, const Features& x, const Tensor& which, int64_t batch_size,
                      int workers) {
  return loader_of(data, x, {}, which, {.batch_size = batch_size, .backward = false, .workers = workers});
}

/// float32: the model's outputs for the loader's graphs, in their order.
Tensor run_over(models::GraphModel& model, const GraphLoader& loader, int64_t outputs, Device device) {
  const NoGrad no_grad;
  Tensor out = Tensor::empty({loader.num_graphs(), outputs}, DType::f32, device);
  int64_t begin = 0;
  for (const GraphBatch& batch : loader.epoch(0)) {
    Tensor rows = out.rows(begin, begin + batch.size());
    rows.copy_(model(batch.graph, batch.offsets, batch.x).value().to(DType::f32));
    begin += batch.size();
  }
  return out;
}

/// For each of `examples` its position in `index`, or else index.numel().
Tensor places_in(const Tensor& index, int64_t examples) {
  const std::vector<int32_t> chosen = index.to_vector<int32_t>();
  std::vector<int32_t> places(static_cast<size_t>(examples), static_cast<int32_t>(chosen.size()));
  for (size_t k = 0; k < chosen.size(); ++k) places[static_cast<size_t>(chosen[k])] = static_cast<int32_t>(k);
  return Tensor::from(places, index.device());
}

class LoadedGraphs : public SampledBatches<GraphBatch> {
 public:
  LoadedGraphs(const Run& run, const GraphOptions& options, models::GraphModel& model)
      : SampledBatches(run, model),
        model_(model),
        drawn_(options.iterations > 0),
        loader_(loader_of(run.task().data, run.task().features, run.objective().targets(),
                          run.examples().train,
                          {.batch_size = run.settings().batches.batch_size,
                           .steps = options.iterations,
                           .shuffle = true,
                           .seed = run.seed(),
                           .workers = run.workers()})),
        validated_(each_once(run.task().data, run.task().features, run.examples().val,
                             run.settings().batches.batch_size, run.workers())),
        places_(places_in(run.examples().val, run.examples().size())) {}

  std::unique_ptr<Pass<GraphBatch>> pass(int64_t done) override {
    // Drawn batches have equal weight; those of a pass over all graphs are weighted by size.
    const double all = static_cast<double>(drawn_ ? loader_.size() : loader_.num_graphs());
    return loaded_pass<GraphBatch>(loader_, done, [all, drawn = drawn_](const GraphBatch& batch) {
      return std::pair(batch, (drawn ? 1.0 : static_cast<double>(batch.size())) / all);
    });
  }

  /// Rows of other graphs are 0.
  Evaluation validate() override {
    const NoGrad no_grad;
    const int64_t graphs = validated_.num_graphs(), outputs = run_.examples().outputs;
    const Device device = run_.task().data.device();
    Tensor rows = Tensor::zeros({graphs + 1, outputs}, DType::f32, device);
    model_.eval();
    Tensor front = rows.rows(0, graphs);
    front.copy_(run_over(model_, validated_, outputs, device));
    model_.train();
    const Tensor out = detail::gather_edges(rows, places_);
    return {run_.objective().loss(Var(out), run_.examples().val).value(), run_.objective().output(out)};
  }
  Tensor outputs_for(const Features&) override { return {}; }

 private:
  Tensor computed(const Features& /*x*/) override {
    return graph_outputs(model_, run_.task().data, run_.task().features, run_.examples().outputs,
                         run_.settings().batches.batch_size, run_.workers());
  }

  models::GraphModel& model_;
  const bool drawn_;
  GraphLoader loader_, validated_;
  Tensor places_;  // output row of each graph; validated graphs only
};

/// Split k: fold k for validation and test, the others for training.
std::vector<Split> cross_validation(const Dataset& data, const std::string& file, int64_t folds,
                                    int64_t seed) {
  const int64_t graphs = data.graph_y.size(0), labelled = graphs - data.unlabelled;
  if (labelled < folds)
    data_fail("{}: graphs/y: {} labelled graphs, expected at least as many as the {} folds of --folds", file,
              labelled, folds);
  Tensor classes = data.graph_y;
  if (data.task != Task::graph_class) {  // one class; -1 for unlabelled graphs
    const std::vector<float> y = data.graph_y.to_vector<float>();
    const size_t columns = y.size() / static_cast<size_t>(graphs);
    std::vector<int32_t> class_of(static_cast<size_t>(graphs));
    for (size_t g = 0; g < class_of.size(); ++g) {
      const auto row = y.begin() + static_cast<std::ptrdiff_t>(g * columns);
      if (std::all_of(row, row + static_cast<std::ptrdiff_t>(columns), [](float v) { return std::isnan(v); }))
        class_of[g] = -1;
    }
    classes = Tensor::from(class_of);
  }
  Generator generator(static_cast<uint64_t>(seed));
  const auto fold_of = stratified_folds(classes, folds, generator).to_vector<int32_t>();
  std::vector<Split> splits;
  for (int32_t fold = 0; fold < folds; ++fold) {
    std::vector<int32_t> train, held_out;
    for (size_t g = 0; g < fold_of.size(); ++g)
      if (fold_of[g] >= 0) (fold_of[g] == fold ? held_out : train).push_back(static_cast<int32_t>(g));
    const Tensor part = Tensor::from(held_out);
    splits.push_back({Tensor::from(train), part, part});
  }
  return splits;
}

}  // namespace

Examples graph_examples(const Settings& options, const GraphOptions& graphs, Dataset& data) {
  const std::string file = file_of(options, data), &program = options.program();
  if (data.task != Task::graph_class && data.task != Task::graph_regression)
    data_fail("{}: attribute task: {}, {} trains graph_class and graph_regression", file, name_of(data.task),
              program);
  if (!data.graph_offsets) data_fail("{}: graphs/offsets: missing, {} needs many graphs", file, program);
  if (!data.graph_y) data_fail("{}: graphs/y: missing, {} needs labels", file, program);
  if (!data.splits.empty() && options.changed("folds", fmt::format("{}", graphs.folds)))
    usage_fail("--folds {}: {} has splits, expected a file without them, or no --folds to train on these",
               graphs.folds, file);
  Examples examples{.things = "graphs",
                    .task = std::string(name_of(data.task)),
                    .labels = labels_of(data.task),
                    .outputs = data.task == Task::graph_class ? data.classes : data.graph_y.size(1),
                    .y = data.graph_y,
                    .unlabelled = data.unlabelled,
                    .splits = data.splits,
                    .auto_metric = usual_metric("auto", data.task)};
  if (examples.splits.empty()) {
    examples.splits = cross_validation(data, file, graphs.folds, options.run.seed);
    examples.splits_in_file = false;
    examples.cross_validated = true;
  }
  return examples;
}

LearningTask graph_task(const Settings& settings, const GraphOptions& graphs) {
  Dataset data = load_data(settings);
  Examples examples = graph_examples(settings, graphs, data);
  return {settings, std::move(data), std::move(examples)};
}

std::unique_ptr<Batches<GraphBatch>> graph_batches(const Run& run, const GraphOptions& options,
                                                   models::GraphModel& model) {
  return std::make_unique<LoadedGraphs>(run, options, model);
}

Tensor graph_outputs(models::GraphModel& model, const Dataset& data, const Features& x, int64_t outputs,
                     int64_t batch_size, int workers) {
  const Tensor all = detail::numbers(data.graph_offsets.numel() - 1);
  return run_over(model, each_once(data, x, all, batch_size, workers), outputs, data.device());
}

void GraphOptions::add_to(Options& o) {
  o.data.split = "all";
  o.run.epochs = 350;
  o.run.weight_decay = 0.0;
  o.run.lr_halve = 50;
  o.batches.batch_size = 32;
  o.things = "graphs";
  o.metric_help =
      "accuracy (auto) or f1 for classes, for two classes also auc, pr-auc, recall@precision=0.9, recall@50 "
      "or precision@50 with any number, r2 or mae for regression (auto: r2)";
  o.program_options = {
      {"folds", &folds, "N",
       "for a file without splits: number of stratified cross-validation folds; each run holds one out", true,
       IntegerRange{2, kMostCounted}},
      {"batch-size", &o.batches.batch_size, "N", "graphs per step", true, IntegerRange{1, kMostCounted}},
      {"iterations", &iterations, "N",
       "steps per epoch, each on newly drawn graphs (0: one pass over the graphs)", true,
       IntegerRange{0, kMostCounted}},
      {"lr-halve", &o.run.lr_halve, "N",
       "without a --schedule, halve the learning rate every N epochs (0: never)", true,
       IntegerRange{0, kMostCounted}},
      workers_option(o.batches.workers)};
}

void set_node_features(Dataset& data, const std::string& file, const ModelDescription& trained) {
  replace_features(data, file, trained.options.node_features,
                   [&] { return trained.features(data.graph, {}); });
}

}  // namespace adj::training
