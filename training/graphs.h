#pragma once

#include "epochs.h"
#include "task.h"
#include <adjoint/data/loader/graph_loader.h>

// Learning something of whole graphs.

namespace adj::training {

/// Of a program whose model takes graphs, beside its batches.
struct GraphOptions {
  int64_t folds = 10;
  int64_t iterations = 50;  ///< steps of an epoch; 0: as many as go once through the graphs
  int64_t lr_halve = 50;    ///< epochs after which the learning rate is halved; 0: never

  /// Adds these options to a program's, with the training of Xu et al. 2019 as its defaults.
  void add_to(Options& options);
  void check() const;
  /// Of the learning rate, after so many epochs.
  double rate_factor(int64_t epochs) const;
};

/// The graphs of a dataset by the splits of its file, or else by --folds, in which each fold is at once what
/// is validated and tested. Gives nodes the features that --node-features asks for. Throws DataError where
/// the dataset has no labelled graphs or no features.
Examples graph_examples(const Options& options, const GraphOptions& graphs, Dataset& data);

/// One training step, as NodeStep.
using GraphStep = std::function<Var(const GraphBatch&)>;
/// The epochs of a run that has begun, over batches of --batch-size graphs.
std::unique_ptr<Epochs> graph_epochs(const Run& run, const GraphOptions& options, models::GraphModel& model,
                                     GraphStep step);

/// float32 [G, outputs] of all graphs of a dataset, as `model` gives them in its mode, `batch_size` at once.
Tensor graph_outputs(models::GraphModel& model, const Dataset& data, const Features& x, int64_t outputs,
                     int64_t batch_size, int workers);

/// Gives every node the features that --node-features asks for (`what`) in the place of the file's. Degrees
/// have so many `columns` (0: as many as the data asks for). Throws DataError naming `file` where a degree is
/// above those.
void set_node_features(Dataset& data, const std::string& file, const std::string& what, int64_t columns = 0);

}  // namespace adj::training
