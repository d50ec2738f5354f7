#include "common.h"

#include "common/feature_place.h"
#include "common/inputs.h"
#include "common/options.h"
#include "common/outcome.h"
#include "common/outputs.h"
#include "common/trainer.h"
#include <adjoint/training/examples.h>
#include <adjoint/training/gnuplot.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace adj::apps {

namespace {

/// A dataset as a training takes it.
struct Prepared {
  Dataset data;                        ///< on the device
  optim::Preprocessing preprocessing;  ///< that its features went through
  Examples examples;                   ///< likewise
  Metric metric;
  std::vector<size_t> splits;  ///< run r trains on splits[r % size]
};

/// Reads, checks and prepares what --data names.
Prepared load_data(const Program& program, const Settings& settings, Device device) {
  const bool demo = settings.data.empty();
  if (demo && settings.features == "file")
    throw UsageError("--features file: expected --data FILE beside it, the demo dataset is in no file");
  Dataset data = demo ? load_demo_dataset() : load_dataset(settings.data, load_options(settings));
  const std::string file = demo ? data.name : settings.data;
  Examples examples =
      program.examples ? program.examples(data, file, settings) : node_examples(data, file, program.name());
  require_features(data, file, program.name());
  if (settings.report) check_report(examples);
  const auto count = static_cast<int64_t>(examples.splits.size());
  const std::optional<int64_t> one = split_number(settings.split);
  if (one && *one >= count)
    throw UsageError(fmt::format("--split: expected 0 to {} for {}, got {}", count - 1, file, *one));
  std::vector<size_t> splits{static_cast<size_t>(one.value_or(0))};
  while (!one && std::ssize(splits) < count) splits.push_back(splits.size());
  const Metric metric = program.metrics
                            ? metric_among(program.metrics(settings), settings.metric, examples.things)
                            : metric_for(examples, file, settings.metric, splits.front(), splits.size());
  if (settings.weighted_sampling && !data.graph.edge_weight())
    data_fail("{}: edges/weight: missing, --weighted-sampling needs weights", file);
  examples.use_split(splits.front());
  const FeatureScaling scaling =
      choose_scaling(data, file, settings.features_scaling, training_rows(data, examples));
  scale_features(data, file, scaling);
  const FeatureQuantization quantization = settings.features_bits == FeatureQuantization::kNone
                                               ? FeatureQuantization()
                                               : choose_quantization(data, file, settings.features_bits);
  quantize_features(data, quantization);
  partition_for_clusters(data, settings);
  return {
      placed_on(device, data, settings), {scaling, {}, quantization}, examples.to(device), metric, splits};
}

/// Refuses, before anything is trained, outputs that cannot be written or that would overwrite an input or
/// each other.
void check_outputs(const Settings& settings) {
  if (!settings.metrics.empty() && !settings.metrics.ends_with(".csv") &&
      !settings.metrics.ends_with(".jsonl"))
    throw UsageError(fmt::format("--metrics: expected FILE.csv or FILE.jsonl, got '{}'", settings.metrics));
  if (!settings.plot.empty() && !settings.plot.ends_with(".svg"))
    throw UsageError(fmt::format("--plot: expected FILE.svg, got '{}'", settings.plot));
  RunFiles files;
  files.read("data", settings.data);
  files.read("config", settings.config);
  files.read("resume", settings.resume);
  files.read("from", settings.from == "none" ? "" : settings.from);
  files.write("checkpoint", settings.checkpoint, "resume");
  files.write("metrics", settings.metrics);
  files.write("predict", settings.predict);
  files.write("plot", settings.plot);
  files.write("cuts", settings.cuts);
  if (!settings.predict.empty()) expect_predictions_path("predict", settings.predict);
  if (!settings.plot.empty()) require_gnuplot();
}

double peak_mb(Device device) {
  if (device.is_cuda()) return static_cast<double>(memory_stats(device).peak) / 0x1p20;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0.0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024.0;
  }
  return 0.0;
}

std::string_view word_for_outputs(Labels labels) {
  return labels == Labels::classes ? "classes" : labels == Labels::several ? "labels" : "targets";
}

/// "2708 nodes, 10556 edges, 1433 features, 7 classes; 140 nodes to train, 500 to validate, 1000 to test".
std::string counted(const Prepared& given) {
  const Dataset& data = given.data;
  const Examples& examples = given.examples;
  return fmt::format("{} nodes, {} edges, {} features, {} {}; {} {} to train, {} to validate, {} to test{}{}",
                     data.num_nodes(), data.graph.num_edges(), data.num_features(), examples.outputs,
                     word_for_outputs(examples.labels), examples.train.numel(), examples.things,
                     examples.val.numel(), examples.test.numel(),
                     given.splits.size() > 1 ? fmt::format(" ({} splits)", given.splits.size()) : "",
                     examples.unlabelled > 0 ? fmt::format(", {} without a label", examples.unlabelled) : "");
}

void train_with(const Program& program, CommandLine line) {
  const auto start = std::chrono::steady_clock::now();
  Settings& settings = line.settings;
  if (settings.quiet) set_log_level(LogLevel::warning);
  if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
  if (settings.explain) set_explaining(true);
  set_precision(settings);
  set_aggregation(settings);
  const Device device = Device::parse(settings.device);
  check_outputs(settings);
  const auto cuts = settings.cuts.empty() ? nullptr : std::make_shared<StoredCuts>(settings.cuts);
  compute_options().cuts = cuts;
  Prepared given = load_data(program, settings, device);
  const Dataset& data = given.data;
  if (given.splits.size() > 1 && settings.runs == 1) settings.runs = std::ssize(given.splits);
  log_info("{}: {}", printable(data.name), counted(given));
  // Bits by node are of one graph's, as whose model a checkpoint is loaded again.
  if (program.family.takes("nodes")) {
    settings.nodes = settings.node_bits > 0.0 ? data.num_nodes() : 0;
    line.identity["nodes"] = fmt::format("{}", settings.nodes);
  }
  if (settings.loader == "none") settings.norm_momentum = 1.0;  // every step has all nodes
  line.hyperparameters.emplace_back("features_scaling",
                                    json_text(name_of(given.preprocessing.scaling.kind())));
  line.hyperparameters.emplace_back("features_bits", fmt::format("{}", settings.features_bits));

  Trainer trainer(program, line, data, given.preprocessing, given.examples, given.metric, given.splits);
  if (settings.features == "host") given.data.x = {};  // of which the trainer may have a copy
  if (!settings.resume.empty()) trainer.resume(settings.resume);
  log_info("{} on {}", trainer.model(), device.str());
  trainer.run();

  if (!settings.metrics.empty()) write_metrics(settings.metrics, given.metric, trainer.history());
  if (!settings.predict.empty()) {
    if (program.write_outputs)
      program.write_outputs(settings.predict, data, given.examples, trainer.output());
    else
      write_predictions(settings.predict, program.name(), data,
                        predictions_of(data.task, trainer.output(), data.class_names));
  }
  if (!settings.plot.empty())
    write_plot(settings.plot, fmt::format("{} on {}", trainer.model(), data.name), given.metric,
               trainer.history(), trainer.results());
  std::optional<ClassReport> report;
  if (settings.report)
    report.emplace(given.examples.labels, trainer.output(), given.examples.y, trainer.test_examples(),
                   data.class_names);
  const Trained trained{program,
                        line,
                        data,
                        given.examples,
                        given.metric,
                        given.splits.size(),
                        trainer,
                        peak_mb(device),
                        std::move(report)};
  if (settings.explain) print_explanations();
  if (!settings.quiet || !settings.json) print_outcome(trained);
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (settings.json) print_outcome_json(trained, wall_s);
  if (cuts && cuts->write() == 0)  // last, as it may be refused
    log_warning("--cuts {}: nothing was cut for tensor cores; --explain says what was chosen",
                printable(settings.cuts));
}

}  // namespace

int train(int argc, char** argv, const Program& program) {
  return run_program(program.name(), [&] {
    if (auto line = read_command_line(argc, argv, program)) train_with(program, *line);
  });
}

}  // namespace adj::apps
