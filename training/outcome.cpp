#include <adjoint/core/allocator.h>
#include <adjoint/core/explain.h>
#include <adjoint/core/file.h>
#include <adjoint/core/isa.h>
#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/predictions.h>
#include <adjoint/data/stored_cuts.h>
#include <adjoint/training/report.h>
#include <adjoint/training/run.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

namespace adj::training {

namespace {

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

struct Spread {
  double mean, deviation;
};
Spread spread_of(const std::vector<double>& values) { return {mean(values), deviation(values)}; }

/// Summary of a training's runs: means and sample standard deviations, and medians of epochs (the lower of
/// two). With folds (Examples::cross_validated) losses and metrics are those at the one epoch with the best
/// mean metric (Xu et al. 2019, section 7): choosing each fold's best epoch would select on the test
/// examples.
struct Outcome {
  double train_loss;           // of the last epoch
  double val_loss, test_loss;  // of the best epoch
  Spread val, test;
  int64_t best_epoch, epochs_run;
};

int64_t median(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

/// A field of each run.
template <class Field>
auto all_of(const std::vector<RunResult>& results, Field&& field) {
  std::vector<std::decay_t<decltype(std::invoke(field, results[0]))>> values;
  for (const RunResult& r : results) values.push_back(std::invoke(field, r));
  return values;
}

/// Mean and standard deviation over the runs of the program's k-th reported number.
Spread reported(const std::vector<RunResult>& results, size_t k) {
  return spread_of(all_of(results, [k](const RunResult& r) { return r.reported[k]; }));
}

/// Chooses among the epochs reached by all folds the one with the best mean metric.
void choose_epoch(const std::vector<EpochRecord>& history, size_t folds, const Metric& metric,
                  Outcome& outcome) {
  struct Values {
    std::vector<double> metric, loss;
  };
  std::map<int64_t, Values> by_epoch;
  for (const EpochRecord& r : history) {
    by_epoch[r.epoch].metric.push_back(r.val_metric);
    by_epoch[r.epoch].loss.push_back(r.val_loss);
  }
  bool found = false;
  for (const auto& [epoch, values] : by_epoch) {
    if (values.metric.size() < folds) continue;  // some folds had stopped
    const double value = mean(values.metric);
    if (found && metric.score(value) <= metric.score(outcome.val.mean)) continue;
    outcome.val = outcome.test = spread_of(values.metric);
    outcome.val_loss = outcome.test_loss = mean(values.loss);
    outcome.best_epoch = epoch;
    found = true;
  }
}

/// A JSON number; null if not finite.
std::string finite(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

/// "0.8210", for several runs "0.8266 ± 0.0107".
std::string with_spread(const Spread& spread, size_t runs) {
  return fmt::format("{:.4f}{}", spread.mean, runs < 2 ? "" : fmt::format(" ± {:.4f}", spread.deviation));
}

/// "epoch 66 of 200", "epoch 102; stopped after 202 of 1000".
std::string epochs_of(const Outcome& outcome, int64_t epochs, size_t runs) {
  const std::string medians = runs < 2 ? "" : " in the median";
  if (outcome.epochs_run == epochs)
    return fmt::format("epoch {} of {}{}", outcome.best_epoch, epochs, medians);
  return fmt::format("epoch {}; stopped after {} of {}{}", outcome.best_epoch, outcome.epochs_run, epochs,
                     medians);
}

Outcome outcome_of(const Run& run) {
  const std::vector<RunResult>& results = run.record().results;
  Outcome outcome{.train_loss = mean(all_of(results, &RunResult::train_loss)),
                  .val_loss = mean(all_of(results, &RunResult::val_loss)),
                  .test_loss = mean(all_of(results, &RunResult::test_loss)),
                  .val = spread_of(all_of(results, &RunResult::val_metric)),
                  .test = spread_of(all_of(results, &RunResult::test_metric)),
                  .best_epoch = median(all_of(results, &RunResult::best_epoch)),
                  .epochs_run = median(all_of(results, &RunResult::epochs_run))};
  if (run.examples().cross_validated)
    choose_epoch(run.record().history, results.size(), run.task().metric, outcome);
  return outcome;
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

/// Prints the summary lines.
void print_results(const Run& run, const Outcome& outcome) {
  const auto& results = run.record().results;
  const LearningTask& task = run.task();
  const size_t runs = results.size();
  const int64_t epochs = run.settings().run.epochs;
  const double ms = run.epoch_ms();
  const std::string cost =
      fmt::format("{} ms per epoch; peak {:.0f} MB",
                  ms < 100.0 ? fmt::format("{:.3g}", ms) : fmt::format("{:.0f}", ms), peak_mb(run.device()));
  const std::string model = fmt::format("{} on {}", run.model(), printable(task.data.name)),
                    test = with_spread(outcome.test, runs);
  if (run.examples().cross_validated) {
    fmt::print("{}: {} {} over {} of {} folds\n", model, task.metric.name, test, runs,
               run.examples().splits.size());
    fmt::print("at epoch {} of {}, {} is the best; {}\n", outcome.best_epoch, epochs,
               runs < 2 ? "which" : "whose mean over the folds", cost);
    return;
  }
  fmt::print("{}{}: test {} {}\n", model,
             runs < 2 ? ""
                      : fmt::format(
                            ", {} runs{}", runs,
                            task.splits.size() < 2 ? "" : fmt::format(" over {} splits", task.splits.size())),
             task.metric.name, test);
  const Spread auc = spread_of(all_of(results, &RunResult::test_auc));
  if (std::isfinite(auc.mean) && task.metric.option != "auc")
    fmt::print("test ROC-AUC {}\n", with_spread(auc, runs));
  for (size_t k = 0; k < task.reported.size(); ++k)
    fmt::print("{}: validation {:.4f}, test {}\n", task.reported[k].name, reported(results, 2 * k).mean,
               with_spread(reported(results, 2 * k + 1), runs));
  fmt::print("validation {} {} at {}; {}\n", task.metric.name, with_spread(outcome.val, runs),
             epochs_of(outcome, epochs, runs), cost);
  if (run.settings().data.path.empty())
    fmt::print("This was the built-in demo dataset. For Cora, see data/README.md, then: {} cora.h5\n",
               run.settings().program());
}

/// The examples of class scores and of scores by degree.
std::string scored_examples(const Run& run) {
  const auto& results = run.record().results;
  const Examples& examples = run.examples();
  return fmt::format(
      "On the {} test {}{}, at epoch {}:", examples.test.numel(), examples.things,
      results.size() < 2
          ? ""
          : fmt::format(" of {} {}, the last one", examples.cross_validated ? "fold" : "run", results.size()),
      results.back().best_epoch);
}

/// The chart of --plot and --report. With folds the marks are at the outcome's epoch, too.
Chart chart_of(const Run& run, const Outcome& outcome, const std::string& title) {
  const TrainingRecord& record = run.record();
  std::vector<RunResult> results = record.results;
  if (run.examples().cross_validated)
    for (size_t fold = 0; fold < results.size(); ++fold) {
      RunResult& r = results[fold];
      r.best_epoch = outcome.best_epoch;
      r.val_metric = r.test_metric = record.row_of(static_cast<int64_t>(fold), r.best_epoch)->val_metric;
    }
  return training_chart(title, run.task().metric, record.history, results);
}

std::string json_of(const Run& run, const Outcome& outcome, const std::optional<ClassReport>& report) {
  const auto& results = run.record().results;
  const Settings& settings = run.settings();
  const LearningTask& task = run.task();
  std::string text = fmt::format(
      R"({{"app": {}, "dataset": {}, "model": {}, "device": {}, "seed": {}, "runs": {}, "epochs": {}, )"
      R"("epochs_run": {}, )",
      json_text(settings.program()), json_text(task.data.name), json_text(run.model()),
      json_text(run.place()), settings.run.seed, results.size(), settings.run.epochs, outcome.epochs_run);
  for (const auto& [option, value] : settings.hyperparameters)
    text += fmt::format("{}: {}, ", json_text(option), value);
  text += fmt::format(R"("features_scaling": {}, "features_bits": {}, )",
                      json_text(name_of(task.preprocessing.scaling.kind())), settings.data.features_bits);
  text += fmt::format(R"("metric": "{}", "train_loss": {}, "val_loss": {}, "test_loss": {}, "val_acc": {}, )"
                      R"("val_acc_std": {}, "test_acc": {}, "test_acc_std": {}, )",
                      task.metric.option, finite(outcome.train_loss), finite(outcome.val_loss),
                      finite(outcome.test_loss), outcome.val.mean, outcome.val.deviation, outcome.test.mean,
                      outcome.test.deviation);
  const Spread auc = spread_of(all_of(results, &RunResult::test_auc));
  if (std::isfinite(auc.mean) && !run.examples().cross_validated)
    text += fmt::format(R"("test_auc": {}, "test_auc_std": {}, )", auc.mean, auc.deviation);
  for (size_t k = 0; k < task.reported.size(); ++k) {
    const std::string& name = task.reported[k].option;
    const Spread test = reported(results, 2 * k + 1);
    text += fmt::format(R"("val_{}": {}, "test_{}": {}, "test_{}_std": {}, )", name,
                        reported(results, 2 * k).mean, name, test.mean, name, test.deviation);
  }
  if (report) text += fmt::format(R"("class_scores": {}, )", report->json());
  const double wall_s = seconds_since(settings.start);
  return fmt::format(R"({}"best_epoch": {}, "epoch_ms": {:.4f}, "peak_mb": {:.1f}, "wall_s": {:.3f}}})", text,
                     outcome.best_epoch, run.epoch_ms(), peak_mb(run.device()), wall_s);
}

/// Folds have no validation examples beside those of the test.
ClassReport class_report_of(const Run& run) {
  const Examples& examples = run.examples();
  return {examples.labels,
          run.output(),
          examples.y,
          examples.test,
          run.task().data.class_names,
          examples.cross_validated ? Tensor() : examples.val};
}

/// Contents of --report.
Report report_of(const Run& run, const Outcome& outcome, const std::vector<ProfileRow>& profile) {
  const LearningTask& task = run.task();
  const Examples& examples = run.examples();
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  Report report{
      .title = fmt::format("{} on {}", run.model(), task.data.name),
      .facts = {{"test " + task.metric.name, number(outcome.test.mean)},
                {"validation " + task.metric.name, number(outcome.val.mean)},
                {"best epoch", fmt::format("{} of {}", outcome.best_epoch, run.settings().run.epochs)},
                {"ms per epoch", number(run.epoch_ms())},
                {"peak MB", number(peak_mb(run.device()))}},
      .data = data_rows(run),
      .options = option_rows(run),
      .importance = importance_rows(run),
      .no_importance = run.insight().no_importance,
      .embeddings = embedding_chart(run),
      .scored = scored_examples(run),
      .metric = task.metric.name,
      .profile = profile};
  for (const auto& row : command_rows(run)) report.facts.push_back(row);
  report.charts.push_back(chart_of(run, outcome, report.title));
  if (examples.labels != Labels::numbers && task.reported.empty())
    report.classes.emplace(class_report_of(run));
  if (examples.things == "nodes")
    report.degrees = scores_by_degree(task.data.graph, task.metric, run.output(), examples.y, examples.test);
  return report;
}

}  // namespace

void print_explanations() {
  fmt::print("CPU kernels: {}\n", describe_cpu_isa());
  for (const std::string& line : explanations()) fmt::print("{}\n", line);
}

void write_predictions(const Run& run) {
  if (!run.leads()) return;
  const std::string& path = run.settings().output.predict;
  if (path.empty()) return;
  const Dataset data = run.task().predicted();
  write_predictions(path, run.settings().program(), data,
                    predictions_of(data.task, run.output(), data.class_names),
                    run.settings().output.escape_formulas);
}

void write_results(const Run& run) {
  if (!run.leads()) return;
  const OutputOptions& o = run.settings().output;
  const LearningTask& task = run.task();
  std::vector<ProfileRow> profile;
  if (run.profiler() != nullptr) {
    profile = run.profiler()->rows();
    if (!o.trace.empty()) replace_file(o.trace, run.profiler()->chrome_trace());
  }
  if (!o.metrics.empty()) write_metrics(o.metrics, task.metric, run.record().history);
  const Outcome outcome = outcome_of(run);
  if (!o.plot.empty())
    replace_file(o.plot, svg(chart_of(run, outcome, fmt::format("{} on {}", run.model(), task.data.name))));
  std::optional<ClassReport> report;
  if (o.class_scores) report.emplace(class_report_of(run));
  if (run.settings().compute.explain) print_explanations();
  if (!o.quiet || !o.json) {
    print_results(run, outcome);
    if (report) report->print(scored_examples(run));
    if (o.profile) fmt::print("\n{}", profile_table(profile));
  }
  if (!o.report.empty()) replace_file(o.report, html(report_of(run, outcome, profile)));
  const std::string json = json_of(run, outcome, report);
  if (o.json) fmt::print("{}\n", json);
  if (!o.run_dir.empty()) {
    RunSummary summary = run.summary();
    summary.result = json;
    write_run(o.run_dir, summary);
  }
  const auto& cuts = task.cuts;
  if (cuts && cuts->write() == 0)  // last, as it may fail
    log_warning("--cuts {}: nothing was cut for tensor cores; --explain prints the choices",
                printable(run.settings().compute.cuts));
}

}  // namespace adj::training
