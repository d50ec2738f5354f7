#include <adjoint/core/launch.h>
#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/content_hash.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/split_columns.h>
#include <adjoint/data/stored_cuts.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/models/node_features.h>
#include <adjoint/models/positional_encoding.h>
#include <adjoint/training/feature_place.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/task.h>
#include <adjoint/training/typed_inputs.h>

#include <algorithm>

namespace adj::training {

namespace {

/// Identifies the dataset and its examples: one fingerprint per split.
std::string fingerprint_of(const Dataset& data, Examples examples, const std::vector<size_t>& splits) {
  std::string all;
  Dataset described = data;
  for (const size_t split : splits) {
    examples.use_split(split);
    described.train = examples.train;
    described.val = examples.val;
    described.test = examples.test;
    all += (all.empty() ? "" : "; ") + fingerprint(described);
  }
  return all;
}

/// "node_class, 500 nodes of splits/val, contents 0123456789abcdef": the task, and what it is validated on.
std::string validation_of(const Options& options, const Examples& examples,
                          const std::vector<size_t>& splits) {
  detail::ContentHash hash;
  for (const size_t split : splits) {
    const Tensor& val = examples.splits[split].val;
    hash.add(val);
    if (!examples.pairs.src) continue;
    for (const Tensor* end : {&examples.pairs.src, &examples.pairs.dst})
      hash.add(detail::gather_edges(*end, val));
  }
  return fmt::format("{}, {} {} of {}, contents {:016x}", examples.task,
                     examples.splits[splits.front()].val.numel(), examples.things,
                     splits.size() > 1         ? fmt::format("{} splits", splits.size())
                     : examples.splits_in_file ? examples.place(splits.front(), "val")
                                               : fmt::format("a split by seed {}", options.run.seed),
                     hash.result());
}

/// Refuses labels and targets of which a training has no value, and warns of labels that it does not tell
/// apart.
void require_values(const Examples& examples, const Dataset& data, const std::string& file,
                    const std::vector<size_t>& splits) {
  if (examples.task != name_of(data.task)) return;
  std::vector<Split> chosen;
  for (const size_t split : splits) chosen.push_back(examples.splits[split]);
  const UntrainedColumns untrained(examples.y, data.task, data.class_names, chosen);
  const std::string note = untrained.note(data.task);
  if (!untrained.empty.empty())
    data_fail(
        "{}: {}; expected some of each, as nothing can be learned of them (another split, or a file without "
        "them)",
        file, note);
  if (!note.empty()) log_warning("{}: {}", file, note);
}

/// Says which columns the mean of a metric leaves out.
void log_left_out(const Metric& metric, const Examples& examples, const std::vector<std::string>& names,
                  const std::vector<size_t>& splits) {
  std::vector<std::string> parts;
  for (const size_t k : splits)
    for (const auto& [name, part] :
         {std::pair("val", &examples.splits[k].val), std::pair("test", &examples.splits[k].test)})
      if (const std::string columns = columns_left_out(metric, examples.y, *part, names); !columns.empty())
        parts.push_back(fmt::format("{}: {}", examples.place(k, name), columns));
  if (!parts.empty())
    log_info("{}: undefined for some columns, which the mean leaves out: {}", metric.name,
             detail::listed(parts, 3));
}

/// The splits of --split.
std::vector<size_t> chosen_splits(const Options& options, const Examples& examples, const std::string& file) {
  const auto count = static_cast<int64_t>(examples.splits.size());
  const std::optional<int64_t> one = split_number(options.data.split);
  if (one && *one >= count) usage_fail("--split: expected 0 to {} for {}, got {}", count - 1, file, *one);
  std::vector<size_t> splits{static_cast<size_t>(one.value_or(0))};
  while (!one && std::ssize(splits) < count) splits.push_back(splits.size());
  return splits;
}

/// Refuses labels that any model predicts without an error.
void require_two_classes(const Examples& examples, const std::string& file) {
  if (examples.labels != Labels::classes) return;
  std::vector<int32_t> y = examples.y.to_vector<int32_t>();
  std::erase_if(y, [](int32_t label) { return label < 0; });
  if (y.empty() || std::count(y.begin(), y.end(), y[0]) != std::ssize(y)) return;
  data_fail(
      "{}: {}/y: all {} labels are of one class, expected two or more; convert can take another column "
      "as labels",
      file, examples.things, y.size());
}

/// "2708 nodes, 10556 edges, 1433 features, 7 classes; 140 nodes to train, 500 to validate, 1000 to test".
std::string counted(const LearningTask& task) {
  const Examples& examples = task.examples;
  return fmt::format("{} nodes, {} edges, {} features, {} {}; {} {} to train, {} to validate, {} to test{}{}",
                     task.data.num_nodes(), task.data.graph.whole_sizes().entries, task.num_features,
                     examples.outputs, word_for_outputs(examples.labels), examples.train.numel(),
                     examples.things, examples.val.numel(), examples.test.numel(),
                     task.splits.size() > 1 ? fmt::format(" ({} splits)", task.splits.size()) : "",
                     examples.unlabelled > 0 ? fmt::format(", {} without a label", examples.unlabelled) : "");
}

}  // namespace

namespace {

/// Whether each rank can read its own rows of the features; logs why not.
bool leaves_features(const Options& options) {
  if (options.model.node_features != models::NodeFeatures::file) return false;
  if (options.model.positional != models::Positional::none) return false;
  const char* const why = options.data.features_bits != FeatureQuantization::kNone
                              ? "--features-bits is fitted to all"
                          : !options.output.report.empty() ? "--report shuffles their columns"
                          : options.data.path.empty()      ? "they are in no file"
                          : !FileRows::can_open(options.data.path)
                              ? "single ones cannot be read: sparse, compressed, chunked or no float32"
                              : nullptr;
  if (why != nullptr) log_info("features: each rank holds those of all nodes, as {}", why);
  return why == nullptr;
}

}  // namespace

Dataset load_data(const Options& options, const std::optional<Group>& readers) {
  LoadOptions loading = load_options(options.batches);
  loading.ranks = readers;
  if (readers && !loading.features_in_file) loading.features_in_file = leaves_features(options);
  if (!options.data.path.empty()) return load_dataset(options.data.path, loading);
  if (options.batches.features == FeaturePlace::file)
    usage_fail("--features file: requires --data FILE, the demo dataset is not a file");
  return load_demo_dataset(loading);
}

std::string file_of(const Options& options, const Dataset& data) {
  return options.data.path.empty() ? data.name : options.data.path;
}

Examples node_examples(const Options& options, const Dataset& data) {
  return node_examples(data, file_of(options, data), options.program());
}

LearningTask::LearningTask(const Settings& options, Dataset dataset, Examples learned,
                           std::vector<Metric> metrics, const Graph& whole,
                           std::shared_ptr<const models::TrainingTypes> types)
    : data(std::move(dataset)), examples(std::move(learned)), reported(std::move(metrics)) {
  preprocessing.types = std::move(types);
  if (!options.compute.cuts.empty()) cuts = std::make_shared<StoredCuts>(options.compute.cuts);
  compute_context().cuts = cuts;
  const std::string file = file_of(options, data);
  require_two_classes(examples, file);
  const Graph& complete = whole ? whole : data.graph;
  if (options.model.node_features == models::NodeFeatures::learned) graph = models::fingerprint(complete);
  if (!options.output.run_dir.empty() || launch().ranks > 1) {
    Dataset loaded = data;
    loaded.graph = complete;
    contents = adj::fingerprint(loaded);
  }
  set_node_features(data, file, options.model);
  const bool encoded = models::positional_columns(options.model) > 0;
  const bool alone = encoded && data.num_features() == 0;  // the encoding is all that nodes have
  if (!preprocessing.types && !alone) require_features(data, file, options.program());
  if (options.output.class_scores && examples.labels == Labels::numbers)
    usage_fail("--class-scores: {} has no classes to score", examples.task);
  splits = chosen_splits(options, examples, file);
  runs = splits.size() > 1 && options.run.runs == 1 ? std::ssize(splits) : options.run.runs;
  metric = reported.empty() ? metric_for(examples, file, options.data.metric, splits.front(), splits.size())
                            : metric_among(reported, options.data.metric, examples.things);
  const std::shared_ptr<LoaderChoice> loader = options.batches.chosen();
  if (loader) loader->check_data(data, file);
  examples.use_split(splits.front());
  if (examples.task == name_of(data.task)) preprocessing.class_names = data.class_names;
  require_values(examples, data, file, splits);
  log_left_out(metric, examples, data.class_names, splits);
  if (!options.output.run_dir.empty()) validation = validation_of(options, examples, splits);
  if (examples.labels == Labels::classes) metric.name_class(preprocessing.class_names);
  class_weights = {options.run.class_weights, examples, preprocessing.class_names};
  if (class_weights.fit(examples))
    log_info("class weights{}: {}", examples.labels == Labels::several ? ", of labels that are 1" : "",
             class_weights.describe(examples, preprocessing.class_names));
  preprocessing.edges = choose_edge_inputs(options, data, file);
  if (!preprocessing.types && !alone)
    preprocessing.scaling =
        choose_scaling(data, file, options.data.features_scaling, training_rows(data, examples));
  if (splits.size() > 1 && preprocessing.scaling.standardizes())
    log_info(
        "features: means and deviations are of the training {} of the first of {} splits, for all of them",
        examples.things, splits.size());
  scale_features(data, file, preprocessing.scaling);
  append_positional(data, file, options.model);
  if (options.data.features_bits != FeatureQuantization::kNone)
    preprocessing.quantization = choose_quantization(data, file, options.data.features_bits);
  quantize_features(data, preprocessing.quantization);
  preprocessing.feature_names = data.feature_names;
  preprocessing.encoder = data.encoder;
  if (preprocessing.edges.attributes > 0) {
    preprocessing.attr_names = data.attr_names;
    preprocessing.attr_encoder = data.attr_encoder;
  }
  if (loader) loader->prepare(data);
  const Device device = Device::parse(options.compute.device);
  data = placed_on(device, data, options.batches);
  examples = examples.to(device);
  num_features = data.num_features();
  log_info("{}: {}", printable(data.name), counted(*this));
  if (!options.output.checkpoint.empty() || !options.output.resume.empty())
    fingerprint = fingerprint_of(data, examples, splits);
  const Tensor drawn_by = loader && loader->draws_by_weight() ? data.graph.edge_weight() : Tensor();
  data.graph = preprocessing.edges.apply(data.graph);
  if (drawn_by) data.graph = data.graph.with_edge_weight(drawn_by);
  const FeaturePlace place = options.batches.features;
  if (loader && place != FeaturePlace::split)
    store = feature_store(data, options.batches, options.compute.dtype());
  if (place == FeaturePlace::device && data.x) features = data.x.to(options.compute.dtype());
  if (place == FeaturePlace::split) features = rank_rows(data, options.compute);
  data.x = {};  // a copy exists where needed
  if (cuts) cuts->expect(data.graph);
  if (options.data.inductive) edges = make_edge_list(options, *this);
}

Dataset LearningTask::predicted() const {
  if (!preprocessing.types) return data;
  Dataset target = data;
  const Tensor none = Tensor::empty({0}, DType::i32);
  target.graph = Graph::from_coo(preprocessing.types->schema.nodes.front().count, none, none);
  return target;
}

int64_t LearningTask::num_embedded() const {
  return preprocessing.types ? preprocessing.types->schema.num_targets() : data.num_nodes();
}

LearningTask node_task(const Settings& settings) {
  if (settings.typed()) return typed_node_task(settings);
  const Dataset data = load_data(settings, settings.readers);
  return {settings, data, node_examples(settings, data)};
}

}  // namespace adj::training
