#include "common.h"

#include "common/options.h"
#include "common/outputs.h"
#include "common/trainer.h"

#include <chrono>
#include <cmath>
#include <fstream>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

/// Reads, checks and prepares what --data names.
Dataset load_data(const Program& program, const Settings& settings, Device device) {
  const bool demo = settings.data.empty();
  Dataset data = demo ? load_demo_dataset() : load_dataset(settings.data);
  const std::string file = demo ? data.name : settings.data;
  if (data.task != Task::node_class)
    data_fail("{}: attribute task: {}, {} trains node_class", file, name_of(data.task), program.name);
  if (data.num_features() == 0)
    data_fail("{}: nodes/x: {}, {} needs node features", file, data.x ? "no columns" : "missing",
              program.name);
  if (!data.y) data_fail("{}: nodes/y: missing, {} needs labels", file, program.name);
  if (data.splits.empty())
    data_fail(
        "{}: splits: missing; to train on it, write splits/train, splits/val and splits/test (int32 node "
        "indices)",
        file);
  const auto splits = static_cast<int64_t>(data.splits.size());
  if (settings.split >= splits)
    throw UsageError(
        fmt::format("--split: expected 0 to {} for {}, got {}", splits - 1, file, settings.split));
  data.use_split(static_cast<size_t>(settings.split));
  if (settings.normalize) {
    data.x = data.x.row_normalized();
    const Tensor& x = data.x.is_sparse() ? data.x.sparse().values() : data.x.dense();
    if (!optim::first_not_finite({{"x", x}}).empty())
      data_fail("{}: nodes/x: a row divided by its sum is not finite; --raw-features leaves it", file);
  }
  return data.to(device);
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

double mean(const std::vector<RunResult>& results, double RunResult::*field) {
  double sum = 0.0;
  for (const RunResult& r : results) sum += r.*field;
  return sum / static_cast<double>(results.size());
}

/// Sample standard deviation; 0 for a single run.
double deviation(const std::vector<RunResult>& results, double RunResult::*field) {
  if (results.size() < 2) return 0.0;
  const double center = mean(results, field);
  double sum = 0.0;
  for (const RunResult& r : results) sum += (r.*field - center) * (r.*field - center);
  return std::sqrt(sum / static_cast<double>(results.size() - 1));
}

int64_t median_best_epoch(const std::vector<RunResult>& results) {
  std::vector<int64_t> epochs;
  for (const RunResult& r : results) epochs.push_back(r.best_epoch);
  std::sort(epochs.begin(), epochs.end());
  return epochs[(epochs.size() - 1) / 2];
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

void print_summary(const Settings& settings, const Dataset& data, const Trainer& trainer, double peak) {
  const auto& results = trainer.results();
  const double ms = trainer.epoch_ms();
  const auto spread = [&](double RunResult::*field) {
    return results.size() < 2 ? "" : fmt::format(" ± {:.4f}", deviation(results, field));
  };
  fmt::print("{} on {}{}: test accuracy {:.4f}{}\n", trainer.model(), printable(data.name),
             results.size() < 2 ? "" : fmt::format(", {} runs", results.size()),
             mean(results, &RunResult::test_acc), spread(&RunResult::test_acc));
  if (const double auc = mean(results, &RunResult::test_auc); std::isfinite(auc))
    fmt::print("test ROC-AUC {:.4f}{}\n", auc, spread(&RunResult::test_auc));
  fmt::print("validation accuracy {:.4f}{} at epoch {} of {}; {} ms an epoch; peak {:.0f} MB\n",
             mean(results, &RunResult::val_acc), spread(&RunResult::val_acc), median_best_epoch(results),
             settings.epochs, ms < 100.0 ? fmt::format("{:.3g}", ms) : fmt::format("{:.0f}", ms), peak);
  if (settings.data.empty())
    fmt::print("This was the dataset that comes along. For Cora, see data/README.md, then: --data cora.h5\n");
}

void print_json(const Program& program, const Settings& settings, const Dataset& data, const Trainer& trainer,
                double peak, double wall_s) {
  const auto& results = trainer.results();
  std::string auc;
  if (const double value = mean(results, &RunResult::test_auc); std::isfinite(value))
    auc = fmt::format(R"("test_auc": {}, "test_auc_std": {}, )", value,
                      deviation(results, &RunResult::test_auc));
  fmt::print(
      R"({{"app": {}, "dataset": {}, "model": {}, "device": {}, "seed": {}, "runs": {}, "epochs": {}, )"
      R"("train_loss": {}, "val_acc": {}, "test_acc": {}, "test_acc_std": {}, {}"best_epoch": {}, )"
      R"("epoch_ms": {:.4f}, "peak_mb": {:.1f}, "wall_s": {:.3f}}})"
      "\n",
      json_text(program.name), json_text(data.name), json_text(trainer.model()),
      json_text(data.device().str()), settings.seed, settings.runs, settings.epochs,
      mean(results, &RunResult::train_loss), mean(results, &RunResult::val_acc),
      mean(results, &RunResult::test_acc), deviation(results, &RunResult::test_acc), auc,
      median_best_epoch(results), trainer.epoch_ms(), peak, wall_s);
}

void train_with(const Program& program, const CommandLine& line) {
  const auto start = std::chrono::steady_clock::now();
  const Settings& settings = line.settings;
  if (settings.quiet) set_log_level(LogLevel::warning);
  if (settings.threads > 0) set_num_threads(static_cast<int>(settings.threads));
  const Device device = Device::parse(settings.device);
  check_outputs(settings);
  const Dataset data = load_data(program, settings, device);
  log_info("{}: {} nodes, {} edges, {} features, {} classes; {} nodes to train, {} to validate, {} to test{}",
           printable(data.name), data.num_nodes(), data.graph.num_edges(), data.num_features(),
           data.num_classes(), data.train.numel(), data.val.numel(), data.test.numel(),
           data.unlabelled > 0 ? fmt::format(", {} without a label", data.unlabelled) : "");

  Trainer trainer(program, line, data);
  if (!settings.resume.empty()) trainer.resume(settings.resume);
  log_info("{} on {}", trainer.model(), device.str());
  trainer.run();

  if (!settings.metrics.empty()) write_metrics(settings.metrics, trainer.history());
  if (!settings.predict.empty())
    write_predictions(settings.predict, program.name, data.name, trainer.logits());
  if (!settings.plot.empty())
    write_plot(settings.plot, fmt::format("{} on {}", trainer.model(), data.name), trainer.history(),
               trainer.results());
  const double peak = peak_mb(device);
  if (!settings.quiet || !settings.json) print_summary(settings, data, trainer, peak);
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (settings.json) print_json(program, settings, data, trainer, peak, wall_s);
}

}  // namespace

int train(int argc, char** argv, const Program& program) {
  return run_program(program.name, [&] {
    if (auto line = read_command_line(argc, argv, program)) train_with(program, *line);
  });
}

std::vector<int64_t> widths_of(const Dataset& data, const Settings& settings) {
  std::vector<int64_t> widths(static_cast<size_t>(settings.layers) + 1, settings.hidden);
  widths.front() = data.num_features();
  widths.back() = data.num_classes();
  return widths;
}

std::string dashed(const std::vector<int64_t>& widths) { return fmt::format("{}", fmt::join(widths, "-")); }

}  // namespace adj::apps
