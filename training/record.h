#pragma once

#include "chart.h"
#include "metric.h"
#include <adjoint/optim/checkpoint.h>

#include <vector>

namespace adj::training {

/// What the training said at one epoch, counted from 1.
struct EpochRecord {
  int64_t run, epoch;
  double train_loss, val_loss, val_metric;
};

/// How one run ended, with the weights of its best validation epoch (train_loss: of its last epoch).
struct RunResult {
  double train_loss, val_metric, test_metric;
  double test_auc;  ///< NaN unless there are two classes
  int64_t best_epoch;
  double test_loss;
  std::vector<double> reported = {};  ///< by all of a program's metrics: of validation and of test, in turn
  double val_loss = 0.0;              ///< as what follows by the history
  int64_t epochs_run = 0;             ///< fewer than were asked for where it stopped early
};

/// What a training has said so far. In a checkpoint it is the tables history, results and, of programs that
/// report several metrics, reported.
struct TrainingRecord {
  std::vector<EpochRecord> history;  ///< the epochs that were evaluated, run after run
  std::vector<RunResult> results;    ///< of the runs that are over

  /// Takes the result of the run after those that are over, which the history has.
  void add(RunResult result);
  /// Null where the epoch was not evaluated.
  const EpochRecord* row_of(int64_t run, int64_t epoch) const;
  /// `reported`: the metrics that RunResult::reported are of.
  void write(optim::Checkpoint& to, const std::vector<Metric>& reported) const;
  /// Of a training that stands in run `run`, of `epochs` epochs each. Throws DataError naming file, table and
  /// row where a number is none that such a training writes.
  static TrainingRecord read(const optim::Checkpoint& from, const Metric& metric,
                             const std::vector<Metric>& reported, int64_t run, int64_t epochs);
};

/// Rows run, epoch, train_loss, val_loss, val_acc (val_auc, …: the metric's column): CSV with a header or
/// JSON lines, by the path's suffix.
void write_metrics(const std::string& path, const Metric& metric, const std::vector<EpochRecord>& history);

/// The epoch for a TensorBoard: loss/train, loss/validation, accuracy/validation (the metric's name),
/// learning_rate and seconds (of an epoch).
std::vector<std::pair<std::string, double>> scalars_of(const EpochRecord& epoch, const Metric& metric,
                                                       double learning_rate, double seconds);

/// Losses and the validation metric over the epochs, one curve a run and their mean, with each run's best
/// epoch and the test metric there.
Chart training_chart(const std::string& title, const Metric& metric, const std::vector<EpochRecord>& history,
                     const std::vector<RunResult>& results);

}  // namespace adj::training
