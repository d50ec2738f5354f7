#pragma once

#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/models/model_description.h>
#include <adjoint/training/batches.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/task.h>

// Training on whole graphs.

namespace adj::training {

/// Options of a program whose model takes graphs.
struct GraphOptions {
  int64_t folds = 10;       ///< of cross-validation, for a file without splits
  int64_t iterations = 50;  ///< steps per epoch; 0: one pass over the graphs

  /// Adds these options to a program's, with the defaults of Xu et al. 2019.
  void add_to(Options& options);
};

/// The graphs of a dataset with the splits of its file, or with --folds, where each fold serves for both
/// validation and test. Throws DataError if the dataset has no labelled graphs, UsageError for --folds of a
/// file with splits.
Examples graph_examples(const Settings& options, const GraphOptions& graphs, Dataset& data);

/// The task of a training on these graphs of --data.
LearningTask graph_task(const Settings& settings, const GraphOptions& graphs);

/// The batches of the current run, of --batch-size graphs.
std::unique_ptr<Batches<GraphBatch>> graph_batches(const Run& run, const GraphOptions& options,
                                                   models::GraphModel& model);

/// float32 [G, outputs] for all graphs of a dataset, in the model's mode, `batch_size` at a time.
Tensor graph_outputs(models::GraphModel& model, const Dataset& data, const Features& x, int64_t outputs,
                     int64_t batch_size, int workers);

/// replace_features() with those that a trained model had in its training.
void set_node_features(Dataset& data, const std::string& file, const ModelDescription& trained);

}  // namespace adj::training
