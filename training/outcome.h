#pragma once

#include <adjoint/training/run.h>

namespace adj::training {

/// Writes the predictions for every node or graph to --predict.
void write_predictions(const Run& run);
/// Writes --metrics and --plot at the end of a training, and prints the results: a few lines or, with --json,
/// one JSON object (members in docs/programs.md); with --class-scores also the scores per class on the test
/// examples of the last run.
void write_results(const Run& run);
/// Prints the list of --explain.
void print_explanations();

}  // namespace adj::training
