#pragma once

#include <adjoint/models/checkpoint.h>
#include <adjoint/optim/metrics_file.h>
#include <adjoint/training/chart.h>
#include <adjoint/training/metric.h>

#include <vector>

namespace adj::training {

/// Results of one epoch, counted from 1, of `run`, counted from 0. `train_loss` is the mean over its batches
/// in training mode; `val_loss` and `val_metric` are of the weights after it, in evaluation mode.
struct EpochRecord {
  int64_t run, epoch;
  double train_loss, val_loss, val_metric;
};

/// Results of one run, with the weights of its best validation epoch `best_epoch` (train_loss: of its last
/// epoch). `val_metric` and `test_metric` are values of LearningTask::metric, `test_loss` is the Objective's.
struct RunResult {
  double train_loss, val_metric, test_metric;
  double test_auc;  ///< NaN unless there are two classes
  int64_t best_epoch;
  double test_loss;
  std::vector<double> reported = {};  ///< all of a program's metrics: validation and test alternating
  double val_loss = 0.0;              ///< this and epochs_run come from the history
  int64_t epochs_run = 0;             ///< fewer than requested after early stopping
};

/// Results of a training so far. Stored in a checkpoint as the tables history, results and, for programs with
/// several metrics, reported.
struct TrainingRecord {
  std::vector<EpochRecord> history;  ///< the evaluated epochs, run by run
  std::vector<RunResult> results;    ///< of the completed runs

  /// Adds the result of the next completed run, whose epochs are in the history.
  void add(RunResult result);
  /// Null if the epoch was not evaluated.
  const EpochRecord* row_of(int64_t run, int64_t epoch) const;
  /// `reported`: the metrics in RunResult::reported.
  void write(models::Checkpoint& checkpoint, const std::vector<Metric>& reported) const;
  /// Reads the record of a training that is in run `run`, with `epochs` epochs each. Throws DataError naming
  /// file, table and row for a number that no such training writes.
  static TrainingRecord read(const models::Checkpoint& checkpoint, const Metric& metric,
                             const std::vector<Metric>& reported, int64_t run, int64_t epochs);
};

/// Rows run, epoch, train_loss, val_loss, val_acc (val_auc, …: the metric's column): CSV with a header or
/// JSON lines, by the path's suffix.
void write_metrics(const std::string& path, const Metric& metric, const std::vector<EpochRecord>& history);
/// The same without rows, not yet written. Throws for a column name that the file cannot have.
optim::MetricsFile metrics_file(const std::string& path, const Metric& metric);

/// The epoch for a TensorBoard: loss/train, loss/validation, accuracy/validation (the metric's name),
/// learning_rate and seconds (of an epoch).
std::vector<std::pair<std::string, double>> scalars_of(const EpochRecord& epoch, const Metric& metric,
                                                       double learning_rate, double seconds);

/// Losses and the validation metric over the epochs, one curve per run and their mean, with each run's best
/// epoch and the test metric there.
Chart training_chart(const std::string& title, const Metric& metric, const std::vector<EpochRecord>& history,
                     const std::vector<RunResult>& results);

}  // namespace adj::training
