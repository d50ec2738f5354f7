#pragma once

#include "run.h"

namespace adj::training {

/// Summary of a training's runs: means and sample deviations, and medians of epochs (the lower of two). With
/// folds (Examples::cross_validated) losses and metrics are those at the one epoch with the best mean metric
/// (Xu et al. 2019, section 7): choosing each fold's best epoch would select on the test examples.
struct Outcome {
  double train_loss;           ///< of the last epoch
  double val_loss, test_loss;  ///< of the best epoch
  double val, val_deviation, test, test_deviation;
  int64_t best_epoch, epochs_run;
};
Outcome outcome_of(const Run& run);

/// Writes the predictions for every node or graph to --predict.
void write_predictions(const Run& run);
/// Writes --metrics and --plot at the end of a training, and prints the results: a few lines or, with --json,
/// one JSON object (members in docs/programs.md); with --class-scores also those per class on the test
/// examples of the last run.
void write_results(const Run& run);
/// Prints what --explain asks for.
void print_explanations();

}  // namespace adj::training
