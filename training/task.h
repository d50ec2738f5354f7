#pragma once

#include "edge_list.h"
#include "metric.h"
#include "options.h"
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/optim/preprocessing.h>

namespace adj::training {

/// What a training works on: the dataset on its device, prepared as the options say, and what is learned of
/// it.
struct LearningTask {
  /// Scales, quantises and places the features of a dataset that load_data() read, and fits what depends on
  /// them to the first split. `metrics`: what --metric may name where the labels alone do not say it, "auto"
  /// being the first; all of them are reported for validation and test at the best epoch. `options` are
  /// completed by what the data say: runs of several splits, nodes. Throws DataError or UsageError where the
  /// dataset and the options do not go together.
  LearningTask(Options& options, Dataset data, Examples examples, std::vector<Metric> metrics = {});

  Dataset data;       ///< on the device, without its features
  Features features;  ///< on the device; absent where --features says that they are elsewhere
  std::shared_ptr<const FeatureStore> store;  ///< where batches find them; null without a loader
  optim::Preprocessing preprocessing;         ///< that the features went through
  Examples examples;                          ///< on the device, with the first split in use
  std::vector<Metric> reported;               ///< the program's metrics, where it names some
  Metric metric;                              ///< that selects the best epoch
  std::vector<size_t> splits;                 ///< run r trains on splits[r % size]
  int64_t num_features;
  std::string fingerprint;        ///< of the data, where a checkpoint is to be read or written
  std::optional<EdgeList> edges;  ///< of an inductive training

  /// "scatter" or "reduce": how this training sums neighbours.
  const char* aggregation() const { return edges && edges->scatters() ? "scatter" : "reduce"; }
};

/// The dataset that --data names, or the demo. Features stay in the file where --features says so.
Dataset load_data(const Options& options);
/// What messages call it: its path, or the demo's name.
std::string file_of(const Options& options, const Dataset& data);
/// The labelled nodes of the dataset. Throws DataError where it has none.
Examples node_examples(const Options& options, const Dataset& data);

/// A model of the options' family with initial weights from the default generator, on the task's device and
/// of its dtype.
template <class Model = models::NodeModel>
std::unique_ptr<Model> make_model(const Options& options, const LearningTask& task) {
  auto model = options.family.make_as<Model>(task.num_features, task.examples.outputs, options.model);
  model->to(task.data.device());
  model->to(options.compute.dtype());
  return model;
}

}  // namespace adj::training
