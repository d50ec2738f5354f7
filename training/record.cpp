#include <adjoint/training/record.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace adj::training {

namespace {

constexpr int64_t kHistoryWidth = 5, kResultsWidth = 6;

/// Row `row` of a table in a checkpoint, with range-checked access.
class TableRow {
 public:
  TableRow(const models::Checkpoint& checkpoint, const char* table, const std::vector<double>& values,
           int64_t width, int64_t row)
      : checkpoint_(checkpoint), table_(table), values_(values.data() + row * width), row_(row) {}

  int64_t whole(int column, const char* name, int64_t low, int64_t high) const {
    const double value = number(column, name, static_cast<double>(low), static_cast<double>(high));
    if (value != std::floor(value)) refuse(name, value, "a whole number");
    return static_cast<int64_t>(value);
  }
  double number(int column, const char* name, double low, double high) const {
    const double value = values_[column];
    if (!(value >= low && value <= high)) refuse(name, value, fmt::format("{} to {}", low, high));
    return value;
  }
  double finite(int column, const char* name) const {
    if (!std::isfinite(values_[column])) refuse(name, values_[column], "a finite number");
    return values_[column];
  }
  double value_of(const Metric& metric, int column, const char* part) const {
    const std::string name = fmt::format("the {} {}", part, metric.name);
    (void)finite(column, name.c_str());
    return number(column, name.c_str(), metric.low, metric.high);
  }
  /// A share, or NaN for none.
  double share_or_none(int column, const char* name) const {
    return std::isnan(values_[column]) ? values_[column] : number(column, name, 0.0, 1.0);
  }
  [[noreturn]] void refuse(const char* name, double value, const std::string& expected) const {
    data_fail("{}: tensors/{}: row {}: {} is {}, expected {}", checkpoint_.path, table_, row_, name, value,
              expected);
  }

 private:
  const models::Checkpoint& checkpoint_;
  const char* table_;
  const double* values_;
  int64_t row_;
};

/// The evaluated epochs, run by run, up to the current run `run`.
std::vector<EpochRecord> read_history(const models::Checkpoint& checkpoint, const Metric& metric, int64_t run,
                                      int64_t epochs) {
  const std::vector<double> values = checkpoint.table("history", kHistoryWidth);
  const int64_t now = checkpoint.integer("epoch");
  std::vector<EpochRecord> history;
  for (int64_t i = 0; i < std::ssize(values) / kHistoryWidth; ++i) {
    const TableRow row(checkpoint, "history", values, kHistoryWidth, i);
    const int64_t before = history.empty() ? -1 : history.back().run;
    EpochRecord r{};
    r.run = row.whole(0, "the run", 0, run);
    if (r.run != before && r.run != before + 1)
      row.refuse("the run", static_cast<double>(r.run), fmt::format("{} or the one after it", before));
    r.epoch = row.whole(1, "the epoch", 1, r.run == run ? now : epochs);
    if (r.run == before && r.epoch <= history.back().epoch)
      row.refuse("the epoch", static_cast<double>(r.epoch),
                 fmt::format("one after {}", history.back().epoch));
    r.train_loss = row.finite(2, "the training loss");
    r.val_loss = row.finite(3, "the validation loss");
    r.val_metric = row.value_of(metric, 4, "validation");
    history.push_back(r);
  }
  if (const int64_t last = history.empty() ? -1 : history.back().run; last < run - 1)
    data_fail("{}: tensors/history: no row of run {}", checkpoint.path, last + 1);
  return history;
}

/// Reads RunResult::reported of the completed runs.
void read_reported(const models::Checkpoint& checkpoint, const std::vector<Metric>& metrics,
                   std::vector<RunResult>& results) {
  if (metrics.empty()) return;
  const auto width = 2 * metrics.size();
  const std::vector<double> values = checkpoint.table("reported", static_cast<int64_t>(width));
  if (values.size() != width * results.size())
    data_fail("{}: tensors/reported: {} rows, expected {}", checkpoint.path, values.size() / width,
              results.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const Metric& metric = metrics[k % width / 2];
    if (!(values[k] >= metric.low && values[k] <= metric.high))
      data_fail("{}: tensors/reported: row {}: {} is {}, expected {} to {}", checkpoint.path, k / width,
                metric.name, values[k], metric.low, metric.high);
    results[k / width].reported.push_back(values[k]);
  }
}

/// One row for each of the `runs` completed.
void read_results(const models::Checkpoint& checkpoint, int64_t runs, int64_t epochs, const Metric& metric,
                  TrainingRecord& record) {
  const std::vector<double> values = checkpoint.table("results", kResultsWidth);
  const int64_t rows = std::ssize(values) / kResultsWidth;
  if (rows != runs) data_fail("{}: tensors/results: {} rows, expected {}", checkpoint.path, rows, runs);
  for (int64_t i = 0; i < rows; ++i) {
    const TableRow row(checkpoint, "results", values, kResultsWidth, i);
    const RunResult r{row.finite(0, "the training loss"),
                      row.value_of(metric, 1, "validation"),
                      row.value_of(metric, 2, "test"),
                      row.share_or_none(3, "the area under the curve"),
                      row.whole(4, "the best epoch", 1, epochs),
                      row.number(5, "the test loss", 0.0, std::numeric_limits<double>::infinity())};
    if (record.row_of(i, r.best_epoch) == nullptr)
      row.refuse("the best epoch", static_cast<double>(r.best_epoch), "an epoch in tensors/history");
    record.add(r);
  }
}

}  // namespace

void TrainingRecord::add(RunResult result) {
  const int64_t run = std::ssize(results);
  result.val_loss = row_of(run, result.best_epoch)->val_loss;
  for (const EpochRecord& r : history)
    if (r.run == run) result.epochs_run = r.epoch;
  results.push_back(std::move(result));
}

const EpochRecord* TrainingRecord::row_of(int64_t run, int64_t epoch) const {
  const auto found = std::find_if(history.begin(), history.end(),
                                  [=](const auto& r) { return r.run == run && r.epoch == epoch; });
  return found == history.end() ? nullptr : &*found;
}

void TrainingRecord::write(models::Checkpoint& checkpoint, const std::vector<Metric>& reported) const {
  std::vector<double> rows;
  for (const EpochRecord& r : history)
    rows.insert(rows.end(), {static_cast<double>(r.run), static_cast<double>(r.epoch), r.train_loss,
                             r.val_loss, r.val_metric});
  checkpoint.tensors["history"] = Tensor::from(rows, {std::ssize(history), kHistoryWidth});
  rows.clear();
  for (const RunResult& r : results)
    rows.insert(rows.end(), {r.train_loss, r.val_metric, r.test_metric, r.test_auc,
                             static_cast<double>(r.best_epoch), r.test_loss});
  checkpoint.tensors["results"] = Tensor::from(rows, {std::ssize(results), kResultsWidth});
  if (reported.empty()) return;
  rows.clear();
  for (const RunResult& r : results) rows.insert(rows.end(), r.reported.begin(), r.reported.end());
  checkpoint.tensors["reported"] = Tensor::from(rows, {std::ssize(results), 2 * std::ssize(reported)});
}

TrainingRecord TrainingRecord::read(const models::Checkpoint& checkpoint, const Metric& metric,
                                    const std::vector<Metric>& reported, int64_t run, int64_t epochs) {
  TrainingRecord record;
  record.history = read_history(checkpoint, metric, run, epochs);
  read_results(checkpoint, run, epochs, metric, record);
  read_reported(checkpoint, reported, record.results);
  return record;
}

std::vector<std::pair<std::string, double>> scalars_of(const EpochRecord& epoch, const Metric& metric,
                                                       double learning_rate, double seconds) {
  return {{"loss/train", epoch.train_loss},
          {"loss/validation", epoch.val_loss},
          {metric.option + "/validation", epoch.val_metric},
          {"learning_rate", learning_rate},
          {"seconds", seconds}};
}

optim::MetricsFile metrics_file(const std::string& path, const Metric& metric) {
  return {path, {"run", "epoch", "train_loss", "val_loss", fmt::format("val_{}", metric.column)}};
}

void write_metrics(const std::string& path, const Metric& metric, const std::vector<EpochRecord>& history) {
  optim::MetricsFile file = metrics_file(path, metric);
  for (const EpochRecord& r : history)
    file.add(
        {static_cast<double>(r.run), static_cast<double>(r.epoch), r.train_loss, r.val_loss, r.val_metric});
  file.flush();
}

}  // namespace adj::training
