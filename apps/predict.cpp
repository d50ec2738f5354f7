// Runs a trained model on its training graph or any other with the same features.

#include "common/command_line.h"
#include "common/trained_model.h"
#include "predict/links.h"
#include "predict/options.h"
#include "predict/recommend.h"
#include <adjoint/adjoint.h>
#include <adjoint/core/run_files.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/chosen_nodes.h>
#include <adjoint/models/pyg_state.h>
#include <adjoint/training/class_report.h>
#include <adjoint/training/feature_place.h>
#include <adjoint/training/graphs.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/recommender.h>
#include <adjoint/training/typed_inputs.h>

#include <algorithm>
#include <chrono>

using namespace adj;
using namespace adj::apps;
using namespace adj::training;

namespace {

/// Whether the layers of a PyG state have maps of edge attributes (edge_dim), or are known to need them.
bool takes_edge_attributes(const PredictOptions& o) {
  const std::vector<std::string> names = nn::pyg_state_names(o.pyg_state);
  return o.family.edge_support(o.options).needs_attributes ||
         std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.ends_with("lin_edge.weight"); });
}

/// For a PyG state, which lacks them: the dataset's own class names, scaling fitted to it, and the width of
/// its edge attributes.
models::Preprocessing preprocessing_of(const PredictOptions& o, const Dataset& data, Task task,
                                       int64_t outputs) {
  using Scaling = FeatureScaling::Kind;
  Tensor train;
  const Scaling scaling =
      o.features_scaling
          ? *o.features_scaling
          : FeatureScaling::automatic(data.x ? summary_of(data.x) : summary_of(data.x_in_file), data.encoder);
  if (scaling == Scaling::standard || scaling == Scaling::real) {
    if (data.splits.empty())
      data_fail("{}: splits: missing, --features-scaling {} requires training rows", o.data,
                name_of(scaling));
    Examples examples;
    examples.things = is_of_graphs(task) ? "graphs" : "nodes";
    examples.train = data.train;
    train = training_rows(data, examples);
  }
  const bool named = data.task == task && std::ssize(data.class_names) == outputs;
  models::Preprocessing preprocessing{choose_scaling(data, o.data, o.features_scaling, train),
                                      named ? data.class_names : std::vector<std::string>()};
  preprocessing.edges.weights = models::EdgeWeights::used;
  if (!takes_edge_attributes(o)) return preprocessing;
  preprocessing.edges.attributes = models::edge_attribute_columns(data.graph);
  if (preprocessing.edges.attributes == 0)
    data_fail("{}: edges/attr: missing, the model of {} takes edge attributes", o.data, o.pyg_state);
  return preprocessing;
}

/// The model of the options with the weights of a PyG state; widths come from the dataset unless options set
/// them.
TrainedModel load_foreign(const PredictOptions& o, const Dataset& data, Device device) {
  const Task task = o.task == Task::none ? data.task : o.task;
  if (!is_trained(task) && !is_of_graphs(task)) usage_fail("--task: required, as {} has no task", o.data);
  if (is_of_graphs(task) && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, --task {} requires graphs", o.data, name_of(task));
  const bool labelled = (is_of_graphs(task) ? data.graph_y : data.y) && data.task == task;
  if (o.outputs == 0 && !labelled)
    usage_fail("--outputs: required, as {} has no labels of this task", o.data);
  const int64_t outputs = o.outputs == 0 ? outputs_of(data) : o.outputs;
  TrainedModel::Parts parts;
  static_cast<models::Preprocessing&>(parts) = preprocessing_of(o, data, task, outputs);
  parts.family = o.family;
  parts.options = o.options;
  parts.options.edge_dim = parts.edges.width();
  parts.task = task;
  parts.num_features = data.num_features();
  parts.num_outputs = outputs;
  parts.origin = printable(o.pyg_state);
  {
    const nn::NoInit no_init;
    parts.model = o.family.make(parts.num_features, outputs, parts.options);
  }
  if (is_of_graphs(task) != (parts.model->as<models::GraphModel>() != nullptr))
    usage_fail("--model {}: the task is {}, expected one of {} (--task)", o.options.model, name_of(task),
               is_of_graphs(task) ? "nodes" : "graphs");
  nn::load_pyg_state(*parts.model, o.pyg_state, o.names);
  if (const std::string name = optim::first_not_finite(parts.model->state()); !name.empty())
    data_fail("{}: {} is not finite", o.pyg_state, name);
  parts.model->to(device);
  return TrainedModel(std::move(parts));
}

/// The --class-scores for the split's test nodes, or all labelled ones; absent, with a message, if there are
/// none.
std::optional<ClassReport> report_of(const TrainedModel& trained, const std::string& file,
                                     const Dataset& data, const Tensor& output) {
  const ModelDescription& model = trained.description();
  const Tensor& y = labels_for(model, data);
  const Tensor index = y ? judged(model, data) : Tensor();
  if (index && index.numel() > 0)
    return ClassReport(labels_of(model.task), output, y, index, model.class_names,
                       data.splits.empty() ? Tensor() : data.val);
  std::vector<std::string> missing;  // of several labels, for which match_classes() takes none
  for (const std::string& name : model.class_names)
    if (!y && !data.class_names.empty() &&
        std::ranges::find(data.class_names, name) == data.class_names.end())
      missing.push_back(fmt::format("'{}'", name));
  if (!missing.empty())
    log_warning("no class scores: {} has no labels {}", file, detail::listed(missing, 5));
  else
    log_warning("no class scores: {} has no {}{} with a label", file, data.splits.empty() ? "" : "test ",
                model.things());
  return {};
}

/// Refuses unsupported --class-scores before any computation.
void check_class_scores(const TrainedModel& trained, const PredictOptions& o, const Dataset& data) {
  const Tensor& y = labels_for(trained.description(), data);
  if (labels_of(trained.task()) == Labels::numbers)
    usage_fail("--class-scores: {} has no classes to score", name_of(trained.task()));
  if (y && (data.task != trained.task() || outputs_of(data) != trained.num_outputs()))
    data_fail("{}: {}/y: {} [{}], --class-scores needs the model's task and width, {} [{}]", o.data,
              trained.description().things(), name_of(data.task), outputs_of(data), name_of(trained.task()),
              trained.num_outputs());
}

/// Refuses what this kind of model cannot give.
void check_requests(const TrainedModel& trained, const PredictOptions& o) {
  if (o.top > 0)
    usage_fail("--top: {} is a model of {}, expected one of recommendations (train_recommend)",
               trained.origin(), trained.of_links() ? "links" : trained.description().things());
  if (!o.attention.empty() && trained.description().types)
    usage_fail("--attention: {} is a model of several types of nodes, expected one of one type",
               trained.origin());
  if (!o.attention.empty() && o.batches.evaluation == EvaluationMethod::layers)
    usage_fail("--attention: requires --evaluation graph");
  if (trained.of_edges() && !o.nodes.empty())
    usage_fail("--nodes: {} is a model of edges, whose predictions are written for all of them",
               trained.origin());
  if (!trained.of_links()) {
    if (!o.pairs.empty() || o.missing_links > 0)
      usage_fail("--{}: {} is a model of {}, expected one of links (train_link)",
                 o.pairs.empty() ? "missing-links" : "pairs", trained.origin(),
                 trained.description().things());
    if (!o.embeddings.empty() && o.batches.evaluation == EvaluationMethod::layers)
      usage_fail("--embeddings: requires --evaluation graph");
    return;
  }
  if (o.class_scores) usage_fail("--class-scores: {} is a model of links, without classes", trained.origin());
  if (o.pairs.empty() && o.missing_links == 0 &&
      ((o.embeddings.empty() && o.attention.empty()) || !o.out.empty()))
    usage_fail(
        "{} is a model of links, expected --pairs FILE (scores these pairs), --missing-links K (the most "
        "likely pairs that are no edges), or --embeddings FILE or --attention FILE without --out",
        trained.origin());
}

void predict(const PredictOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  if (o.quiet) set_log_level(LogLevel::warning);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  if (!o.checkpoint.empty() && is_recommender(o.checkpoint)) return recommend(o);
  const Device device = Device::parse(o.device);
  // Checkpoint errors are reported before a large dataset is read; a PyG state needs the dataset's widths.
  std::optional<TrainedModel> loaded;
  if (!o.checkpoint.empty()) loaded = load_checkpoint_model(o.checkpoint, device);
  if (loaded && o.batches.evaluation == EvaluationMethod::layers) require_layers(loaded->model());
  if (loaded) check_requests(*loaded, o);
  std::optional<MatchedTypes> types;
  if (loaded && loaded->description().types)
    types = match_types(load_types(o.data, o.batches), o.data, loaded->description());
  Dataset data = types ? types->target : load_dataset(o.data, load_options(o.batches));
  loaded ? set_node_features(data, o.data, loaded->description())
         : set_node_features(data, o.data, o.options);
  if (loaded && loaded->of_graphs() && !data.graph_offsets)
    data_fail("{}: graphs/offsets: missing, {} was trained on graphs", o.data, loaded->origin());
  if (!types && (!loaded || loaded->num_features() > 0)) require_features(data, o.data, "predict");
  if (!data.splits.empty()) {
    const bool trained = loaded && !loaded->of_links();
    const size_t split = o.split != "auto" ? static_cast<size_t>(*split_number(o.split))
                         : trained         ? split_of_training(loaded->description(), data, o.data)
                                           : 0;
    if (split >= data.splits.size())
      usage_fail("--split: expected 0 to {} for {}, got {}", data.splits.size() - 1, o.data, split);
    data.use_split(split);
    if (types && types->joint.y) types->joint.use_split(split);
  }
  if (!loaded) {
    loaded = load_foreign(o, data, device);
    check_requests(*loaded, o);
  }
  const TrainedModel& trained = *loaded;
  std::optional<Metric> metric;
  if (!trained.of_links()) metric = metric_of(trained.description(), o.checkpoint);
  execution_options_of(trained.description()).apply();
  match_names(data, o.data, trained.description());
  if (!types && data.num_features() != trained.num_features())
    data_fail("{}: nodes/x: {} columns, but {} was trained on {}", o.data, data.num_features(), o.checkpoint,
              trained.num_features());
  if (o.class_scores) check_class_scores(trained, o, data);
  Tensor embeddings;
  if (!o.embeddings.empty() && !trained.of_links())  // prepares edges and features itself
    embeddings = trained.of_graphs() ? trained.embeddings(data.graph, data.graph_offsets, data.x)
                 : types ? types->of_target(trained.embeddings(types->joint.graph, types->joint.x))
                         : trained.embeddings(data.graph, data.x);
  if (!o.attention.empty())
    write_attention(o.attention, "predict", data, trained.attention(data.graph, data.x), o.escape_formulas);
  Dataset& input = types ? types->joint : data;  // of the model
  const Graph whole = input.graph;
  take_edge_inputs(input, o.data, trained.description(), trained.model().edge_support());
  std::vector<std::string> notes;
  const Tensor nodes = o.nodes.empty() ? Tensor()
                                       : chosen_nodes("nodes", o.nodes, data, o.data, trained.of_graphs(),
                                                      o.text.format(), &notes);
  const Dataset* link_targets = types && types->link_targets ? &*types->link_targets : nullptr;
  const EdgeIndex pairs = o.pairs.empty()
                              ? EdgeIndex()
                              : read_pairs(o.pairs, data, o.data, o.text.format(), &notes, link_targets);
  for (const std::string& note : notes) log_info("{}", note);
  scale_features(input, o.data, trained.scaling());
  log_clamped(input, trained.quantization());
  quantize_features(input, trained.quantization());
  append_positional(input, o.data, trained.options());
  const bool known_split = !metric || data.splits.empty() || !labels_for(trained.description(), data) ||
                           has_training_split(trained.description(), input, whole);
  data = placed_on(device, data, o.batches);
  if (types) input = placed_on(device, input, o.batches);
  const std::string model = trained.describe();
  log_info("{} of {} on {}: {} nodes, {} edges, {}", model, trained.origin(), printable(data.name),
           input.num_nodes(), input.graph.num_edges(), device.str());

  const Tensor raw = run(trained, input, o.batches), output = types ? types->of_target(raw) : raw;
  if (!o.embeddings.empty())
    write_embeddings(o.embeddings, "predict", types && trained.of_links() ? types->embedded : data,
                     trained.of_links() ? output : embeddings, trained.of_graphs(), o.escape_formulas, nodes);
  if (trained.of_links()) {
    if (!o.out.empty())
      write_predictions(o.out, "predict", data,
                        predicted_links(trained, o, {data, link_targets, types ? types->links : data.graph},
                                        output, pairs, nodes),
                        o.escape_formulas, link_targets);
  } else if (!o.out.empty()) {
    write_predictions(o.out, "predict", data, predictions_of(trained.task(), output, trained.class_names()),
                      o.escape_formulas, nodes);
  }
  std::optional<double> value;
  if (metric && !data.splits.empty()) value = measure(trained.description(), *metric, data, output);
  if (value && (!o.quiet || !o.json)) fmt::print("test {} {:.4f}\n", metric->name, *value);
  std::optional<ClassReport> report;
  if (o.class_scores) report = report_of(trained, o.data, data, output);
  if (!known_split && (value || report))
    log_warning("{}: not the data and split that {} was trained on: test {} may be among its training {}",
                o.data, o.checkpoint, trained.description().things(), trained.description().things());
  if (report && (!o.quiet || !o.json))
    report->print(fmt::format("On the {} {} {}:", report->examples(),
                              data.splits.empty() ? "labelled" : "test", trained.description().things()));
  if (!o.json) return;
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(R"({{"app": "predict", "dataset": {}, "model": {}, "device": {}, "nodes": {}, "task": "{}", )"
             R"({}{}"wall_s": {:.3f}}})"
             "\n",
             json_text(data.name), json_text(model), json_text(device.str()), data.num_nodes(),
             trained.of_links() ? "link" : name_of(trained.task()),
             value ? fmt::format(R"("metric": "{}", "test_acc": {}, )", metric->option, *value) : "",
             report ? fmt::format(R"("class_scores": {}, )", report->json()) : "", wall_s);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("predict", [&] {
    if (const auto options = read_predict_options(argc, argv)) predict(*options);
  });
}
