// Runs a trained model on its training graph or any other with the same features.

#include "common/command_line.h"
#include "common/trained_model.h"
#include "predict/options.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>
#include <adjoint/training/class_report.h>
#include <adjoint/training/feature_place.h>
#include <adjoint/training/graphs.h>
#include <adjoint/training/inputs.h>

#include <chrono>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;

namespace {

/// For a PyG state, which lacks them: the dataset's own class names, and scaling fitted to it.
models::Preprocessing preprocessing_of(const PredictOptions& o, const Dataset& data, Task task,
                                       int64_t outputs) {
  Tensor train;
  if (o.features_scaling == FeatureScaling::Kind::standard) {
    if (data.splits.empty())
      data_fail("{}: splits: missing, --features-scaling standard requires training rows", o.data);
    Examples examples;
    examples.things = is_of_graphs(task) ? "graphs" : "nodes";
    examples.train = data.train;
    train = training_rows(data, examples);
  }
  const bool named = data.task == task && std::ssize(data.class_names) == outputs;
  return {choose_scaling(data, o.data, o.features_scaling, train),
          named ? data.class_names : std::vector<std::string>()};
}

/// A PyG state; widths come from the dataset unless options set them.
TrainedModel load_foreign(const PredictOptions& o, const Dataset& data, Device device) {
  const Task task = o.task == Task::none ? data.task : o.task;
  if (!is_trained(task) && !is_of_graphs(task)) usage_fail("--task: required, as {} has no task", o.data);
  if (is_of_graphs(task) && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, --task {} requires graphs", o.data, name_of(task));
  const bool labelled = (is_of_graphs(task) ? data.graph_y : data.y) && data.task == task;
  if (o.outputs == 0 && !labelled)
    usage_fail("--outputs: required, as {} has no labels of this task", o.data);
  const int64_t outputs = o.outputs == 0 ? outputs_of(data) : o.outputs;
  return load_pyg(o.family, o.options, o.pyg_state, o.names, task, data.num_features(), outputs,
                  preprocessing_of(o, data, task, outputs), device);
}

/// The --class-scores for the split's test nodes, or all labelled ones.
ClassReport report_of(const TrainedModel& trained, const Dataset& data, const Tensor& output) {
  const ModelDescription& model = trained.description();
  return {labels_of(model.task), output, labels_for(model, data), judged(model, data), model.class_names};
}

/// Refuses unsupported --class-scores before any computation.
void check_class_scores(const TrainedModel& trained, const PredictOptions& o, const Dataset& data) {
  const Tensor& y = labels_for(trained.description(), data);
  if (labels_of(trained.task()) == Labels::numbers)
    usage_fail("--class-scores: {} has no classes to score", name_of(trained.task()));
  if (!y)
    data_fail("{}: {}/y: missing, --class-scores needs labels", o.data,
              trained.of_graphs() ? "graphs" : "nodes");
  if (data.task != trained.task() || outputs_of(data) != trained.num_outputs())
    data_fail("{}: {}/y: {} [{}], --class-scores needs the model's task and width, {} [{}]", o.data,
              trained.of_graphs() ? "graphs" : "nodes", name_of(data.task), outputs_of(data),
              name_of(trained.task()), trained.num_outputs());
}

void predict(const PredictOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  if (o.quiet) set_log_level(LogLevel::warning);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const Device device = Device::parse(o.device);
  // Checkpoint errors are reported before a large dataset is read; a PyG state needs the dataset's widths.
  std::optional<TrainedModel> loaded;
  if (!o.checkpoint.empty()) loaded = load_checkpoint_model(o.checkpoint, device);
  if (loaded && o.batches.evaluation == EvaluationMethod::layers) require_layers(loaded->model());
  Dataset data = load_dataset(o.data, load_options(o.batches));
  loaded ? set_node_features(data, o.data, loaded->description())
         : set_node_features(data, o.data, o.options);
  if (loaded && loaded->of_graphs() && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, {} was trained on graphs", o.data, loaded->origin());
  require_features(data, o.data, "predict");
  const int64_t split = *split_number(o.split);
  if (!data.splits.empty() && split >= std::ssize(data.splits))
    usage_fail("--split: expected 0 to {} for {}, got {}", data.splits.size() - 1, o.data, split);
  if (!data.splits.empty()) data.use_split(static_cast<size_t>(split));
  if (!loaded) loaded = load_foreign(o, data, device);
  const TrainedModel& trained = *loaded;
  const Metric metric = metric_of(trained.description(), o.checkpoint);
  execution_options_of(trained.description()).apply();
  match_names(data, o.data, trained.description());
  if (data.num_features() != trained.num_features())
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              trained.num_features());
  if (o.class_scores) check_class_scores(trained, o, data);
  scale_features(data, o.data, trained.scaling());
  quantize_features(data, trained.quantization());
  data = placed_on(device, data, o.batches);
  const std::string model = trained.describe();
  log_info("{} of {} on {}: {} nodes, {} edges, {}", model, trained.origin(), printable(data.name),
           data.num_nodes(), data.graph.num_edges(), device.str());

  const Tensor output = run(trained, data, o.batches);
  write_predictions(o.out, "predict", data, predictions_of(trained.task(), output, trained.class_names()),
                    o.escape_formulas);
  std::optional<double> value;
  if (!data.splits.empty()) value = measure(trained.description(), metric, data, output);
  if (value && (!o.quiet || !o.json)) fmt::print("test {} {:.4f}\n", metric.name, *value);
  std::optional<ClassReport> report;
  if (o.class_scores) report.emplace(report_of(trained, data, output));
  if (report && (!o.quiet || !o.json))
    report->print(fmt::format("On the {} {} {}:", report->examples(),
                              data.splits.empty() ? "labelled" : "test",
                              trained.of_graphs() ? "graphs" : "nodes"));
  if (!o.json) return;
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(R"({{"app": "predict", "dataset": {}, "model": {}, "device": {}, "nodes": {}, "task": "{}", )"
             R"({}{}"wall_s": {:.3f}}})"
             "\n",
             json_text(data.name), json_text(model), json_text(device.str()), data.num_nodes(),
             name_of(trained.task()),
             value ? fmt::format(R"("metric": "{}", "test_acc": {}, )", metric.option, *value) : "",
             report ? fmt::format(R"("class_scores": {}, )", report->json()) : "", wall_s);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("predict", [&] {
    if (const auto options = read_predict_options(argc, argv)) predict(*options);
  });
}
