#pragma once

#include "../common/shared_options.h"
#include <adjoint/training/examples.h>
#include <adjoint/training/options.h>

#include <map>
#include <optional>

namespace adj::apps {

/// Options of `predict`.
struct PredictOptions {
  std::string checkpoint, pyg_state, data, out, device = "cpu", split = "auto";
  std::string nodes, embeddings, attention, pairs;  ///< empty: not asked for
  TextOptions text;                                 ///< of nodes and pairs
  int64_t missing_links = 0;                        ///< 0: not asked for
  int64_t top = 0;                                  ///< 0: not asked for
  int64_t threads = 0;
  bool json = false, quiet = false, class_scores = false, escape_formulas = false;
  training::BatchOptions batches;  ///< evaluation graph or layers

  // With --pyg-state, which only holds weights.
  std::string model;             ///< "gat"
  models::ModelFamily family;    ///< that has this model
  models::ModelOptions options;  ///< of the model
  std::optional<FeatureScaling::Kind> features_scaling = FeatureScaling::Kind::none;
  std::map<std::string, std::string> names;  ///< part names in this model, and in the state
  Task task = Task::none;                    ///< none: the dataset's
  int64_t outputs = 0;                       ///< 0: from the dataset's labels (classes or columns)
};

/// Empty if --help or --version was printed. Throws UsageError.
std::optional<PredictOptions> read_predict_options(int argc, char** argv);

}  // namespace adj::apps
