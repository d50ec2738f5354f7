#include "common.h"

#include "common/examples.h"
#include "common/feature_place.h"
#include "common/gnuplot.h"
#include "common/inputs.h"
#include "common/options.h"
#include "common/outputs.h"
#include "common/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>

namespace adj::apps {

namespace {

/// A dataset as a training takes it.
struct Prepared {
  Dataset data;       ///< on the device
  Examples examples;  ///< likewise
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
  prepare_features(data, file, program.name(), settings.normalize);
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
  partition_for_clusters(data, settings);
  return {placed_on(device, data, settings), examples.to(device), metric, splits};
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
  files.write("checkpoint", settings.checkpoint, "resume");
  files.write("metrics", settings.metrics);
  files.write("predict", settings.predict);
  files.write("plot", settings.plot);
  if (!settings.plot.empty()) require_gnuplot();
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Sample standard deviation; 0 of a single value.
double deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  const double center = mean(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<double> all_of(const std::vector<RunResult>& results, double RunResult::*field) {
  std::vector<double> values;
  for (const RunResult& r : results) values.push_back(r.*field);
  return values;
}

double mean(const std::vector<RunResult>& results, double RunResult::*field) {
  return mean(all_of(results, field));
}

double deviation(const std::vector<RunResult>& results, double RunResult::*field) {
  return deviation(all_of(results, field));
}

/// What runs say together: mean and deviation of the metric.
struct Outcome {
  double val, val_deviation, test, test_deviation;
  int64_t epoch;  ///< the best one, or their median
};

/// Of folds: at the one epoch whose mean over them is best (Xu et al. 2019, section 7). What each fold's own
/// best epoch says would be chosen by what is tested.
Outcome cross_validation(const std::vector<EpochRecord>& history, const Metric& metric) {
  std::map<int64_t, std::vector<double>> by_epoch;
  size_t folds = 0;
  for (const EpochRecord& r : history) {
    std::vector<double>& values = by_epoch[r.epoch];
    values.push_back(r.val_metric);
    folds = std::max(folds, values.size());
  }
  Outcome best{};
  bool found = false;
  for (const auto& [epoch, values] : by_epoch) {
    if (values.size() < folds) continue;  // in some folds after the training stopped
    const double value = mean(values), spread = deviation(values);
    if (found && metric.score(value) <= metric.score(best.val)) continue;
    best = {value, spread, value, spread, epoch};
    found = true;
  }
  return best;
}

int64_t median_best_epoch(const std::vector<RunResult>& results) {
  std::vector<int64_t> epochs;
  for (const RunResult& r : results) epochs.push_back(r.best_epoch);
  std::sort(epochs.begin(), epochs.end());
  return epochs[(epochs.size() - 1) / 2];
}

Outcome outcome_of(const Prepared& given, const Trainer& trainer) {
  if (given.examples.cross_validated) return cross_validation(trainer.history(), given.metric);
  const auto& results = trainer.results();
  return {mean(results, &RunResult::val_metric), deviation(results, &RunResult::val_metric),
          mean(results, &RunResult::test_metric), deviation(results, &RunResult::test_metric),
          median_best_epoch(results)};
}

/// The mean and deviation over the runs of the k-th number that the program's metrics report.
std::pair<double, double> reported(const std::vector<RunResult>& results, size_t k) {
  std::vector<double> values;
  for (const RunResult& r : results) values.push_back(r.reported[k]);
  return {mean(values), deviation(values)};
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

void print_summary(const Settings& settings, const Prepared& given, const Trainer& trainer, double peak) {
  const auto& results = trainer.results();
  const Metric& metric = given.metric;
  const double ms = trainer.epoch_ms();
  const Outcome outcome = outcome_of(given, trainer);
  const auto with_spread = [&](double value, double spread) {
    return fmt::format("{:.4f}{}", value, results.size() < 2 ? "" : fmt::format(" ± {:.4f}", spread));
  };
  const std::string cost =
      fmt::format("{} ms an epoch; peak {:.0f} MB",
                  ms < 100.0 ? fmt::format("{:.3g}", ms) : fmt::format("{:.0f}", ms), peak);
  if (given.examples.cross_validated) {
    fmt::print("{} on {}: {} {} over {} of {} folds\n", trainer.model(), printable(given.data.name),
               metric.name, with_spread(outcome.test, outcome.test_deviation), results.size(),
               given.examples.splits.size());
    fmt::print("at epoch {} of {}, whose mean over the folds is the best; {}\n", outcome.epoch,
               settings.epochs, cost);
    return;
  }
  const std::string over = given.splits.size() < 2 ? "" : fmt::format(" over {} splits", given.splits.size());
  fmt::print("{} on {}{}: test {} {}\n", trainer.model(), printable(given.data.name),
             results.size() < 2 ? "" : fmt::format(", {} runs{}", results.size(), over), metric.name,
             with_spread(outcome.test, outcome.test_deviation));
  if (const double auc = mean(results, &RunResult::test_auc); std::isfinite(auc) && metric.option != "auc")
    fmt::print("test ROC-AUC {}\n", with_spread(auc, deviation(results, &RunResult::test_auc)));
  for (size_t k = 0; k < trainer.reported().size(); ++k) {
    const auto [test, spread] = reported(results, 2 * k + 1);
    fmt::print("{}: validation {:.4f}, test {}\n", trainer.reported()[k].name, reported(results, 2 * k).first,
               with_spread(test, spread));
  }
  fmt::print("validation {} {} at epoch {} of {}; {}\n", metric.name,
             with_spread(outcome.val, outcome.val_deviation), outcome.epoch, settings.epochs, cost);
  if (settings.data.empty())
    fmt::print("This was the dataset that comes along. For Cora, see data/README.md, then: --data cora.h5\n");
}

void print_json(const Program& program, const Settings& settings, const Prepared& given,
                const Trainer& trainer, double peak, double wall_s) {
  const auto& results = trainer.results();
  const Outcome outcome = outcome_of(given, trainer);
  std::string more;
  if (const double value = mean(results, &RunResult::test_auc);
      std::isfinite(value) && !given.examples.cross_validated)
    more = fmt::format(R"("test_auc": {}, "test_auc_std": {}, )", value,
                       deviation(results, &RunResult::test_auc));
  for (size_t k = 0; k < trainer.reported().size(); ++k) {
    const std::string& name = trainer.reported()[k].option;
    const auto [test, spread] = reported(results, 2 * k + 1);
    more += fmt::format(R"("val_{}": {}, "test_{}": {}, "test_{}_std": {}, )", name,
                        reported(results, 2 * k).first, name, test, name, spread);
  }
  fmt::print(
      R"({{"app": {}, "dataset": {}, "model": {}, "device": {}, "seed": {}, "runs": {}, "epochs": {}, )"
      R"("metric": "{}", "train_loss": {}, "val_acc": {}, "test_acc": {}, "test_acc_std": {}, {})"
      R"("best_epoch": {}, "epoch_ms": {:.4f}, "peak_mb": {:.1f}, "wall_s": {:.3f}}})"
      "\n",
      json_text(program.name()), json_text(given.data.name), json_text(trainer.model()),
      json_text(given.data.device().str()), settings.seed, results.size(), settings.epochs,
      given.metric.option, mean(results, &RunResult::train_loss), outcome.val, outcome.test,
      outcome.test_deviation, more, outcome.epoch, trainer.epoch_ms(), peak, wall_s);
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
  Prepared given = load_data(program, settings, device);
  const Dataset& data = given.data;
  if (given.splits.size() > 1 && settings.runs == 1) settings.runs = std::ssize(given.splits);
  log_info("{}: {}", printable(data.name), counted(given));

  Trainer trainer(program, line, data, given.examples, given.metric, given.splits);
  if (settings.features == "host") given.data.x = {};  // of which the trainer may have a copy
  if (!settings.resume.empty()) trainer.resume(settings.resume);
  log_info("{} on {}", trainer.model(), device.str());
  trainer.run();

  if (!settings.metrics.empty()) write_metrics(settings.metrics, given.metric, trainer.history());
  if (!settings.predict.empty()) {
    if (program.write_outputs)
      program.write_outputs(settings.predict, data, given.examples, trainer.output());
    else
      write_predictions(settings.predict, program.name(), data, data.task, trainer.output());
  }
  if (!settings.plot.empty())
    write_plot(settings.plot, fmt::format("{} on {}", trainer.model(), data.name), given.metric,
               trainer.history(), trainer.results());
  const double peak = peak_mb(device);
  if (settings.explain) print_explanations();
  if (!settings.quiet || !settings.json) print_summary(settings, given, trainer, peak);
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (settings.json) print_json(program, settings, given, trainer, peak, wall_s);
}

}  // namespace

int train(int argc, char** argv, const Program& program) {
  return run_program(program.name(), [&] {
    if (auto line = read_command_line(argc, argv, program)) train_with(program, *line);
  });
}

}  // namespace adj::apps
