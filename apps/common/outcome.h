#pragma once

#include "trainer.h"
#include <adjoint/training/class_report.h>

namespace adj::apps {

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
Outcome outcome_of(const Trainer& trainer, const Examples& examples, const Metric& metric);

/// A training that is over, for who says what came of it.
struct Trained {
  const Program& program;
  const CommandLine& line;
  const Dataset& data;
  const Examples& examples;
  const Metric& metric;
  size_t splits;  ///< that were trained on
  const Trainer& trainer;
  double peak_mb;
  std::optional<ClassReport> report;  ///< of the last run, where one was asked for
};

/// Two lines and more: the test metric, and at which epoch validation was best.
void print_outcome(const Trained& trained);
/// One JSON object on a line, as docs/programs.md lists its members.
void print_outcome_json(const Trained& trained, double wall_s);

}  // namespace adj::apps
