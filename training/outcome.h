#pragma once

#include "run.h"

namespace adj::training {

/// What the runs of a training say together: means and sample deviations over them, and medians of epochs
/// (the lower one of two). Over folds (Examples::cross_validated) losses and metrics are those at the one
/// epoch whose mean metric is best (Xu et al. 2019, section 7), for what each fold's own best epoch says
/// would be chosen by what is tested.
struct Outcome {
  double train_loss;           ///< of the last epoch
  double val_loss, test_loss;  ///< of the best one
  double val, val_deviation, test, test_deviation;
  int64_t best_epoch, epochs_run;
};
Outcome outcome_of(const Run& run);

/// Writes what is predicted for every node or graph to --predict.
void write_predictions(const Run& run);
/// A training is over: writes --metrics, --plot, --html, --trace and the summary of --run-dir, and prints
/// what came of it, a few lines or, with --json, one JSON object, as docs/programs.md lists its members; with
/// --report how well each class is told on the test examples of the last run.
void write_results(const Run& run);

}  // namespace adj::training
