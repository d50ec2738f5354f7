#pragma once

#include <adjoint/training/options.h>

#include <map>
#include <optional>

namespace adj::apps {

/// What `predict` was asked for.
struct PredictOptions {
  std::string checkpoint, pyg_state, data, out, device = "cpu", split = "0";
  int64_t threads = 0;
  bool json = false, quiet = false, report = false;
  training::BatchOptions batches;  ///< evaluation "graph" or "layers"

  // Beside --pyg-state, which holds weights alone.
  std::string model;             ///< "gat"
  models::ModelFamily family;    ///< whose model that is
  models::ModelOptions options;  ///< of the model
  std::string features_scaling = "none";
  std::map<std::string, std::string> names;  ///< of parts of ours, there
  std::string task;                          ///< empty: the dataset's
  int64_t outputs = 0;                       ///< 0: as many as the dataset's labels have classes or columns
};

/// Empty if --help or --version was asked for and has been printed. Throws UsageError.
std::optional<PredictOptions> read_predict_options(int argc, char** argv);

}  // namespace adj::apps
