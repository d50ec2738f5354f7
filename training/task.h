#pragma once

#include <adjoint/data/loader/feature_store.h>
#include <adjoint/graph/joint_graph.h>
#include <adjoint/models/training_types.h>
#include <adjoint/training/class_weights.h>
#include <adjoint/training/edge_list.h>
#include <adjoint/training/metric.h>
#include <adjoint/training/settings.h>

namespace adj {
class StoredCuts;
}

namespace adj::training {

/// What the links of a training on several types join.
struct TypedLinks {
  JointPairs pairs;  ///< as numbers of the joint graph's nodes
  Dataset targets;   ///< the nodes of the target type, without edges
};

/// Input of a training: the prepared dataset on its device, and the examples.
struct LearningTask {
  /// Makes the --node-features, scales, quantises and places the features of a dataset from load_data(),
  /// fitted to the first split. `metrics`: values of --metric if the labels do not determine them, "auto"
  /// being the first; all are reported for validation and test at the best epoch. Reads --cuts into the
  /// ComputeContext. Throws DataError or UsageError if dataset and settings conflict.
  /// `whole`: the graph of the file, if `data` lacks some of its edges.
  /// `types`: of a joint graph, whose features are scaled (training/typed_inputs.h).
  LearningTask(const Settings& settings, Dataset data, Examples examples, std::vector<Metric> metrics = {},
               const Graph& whole = {}, std::shared_ptr<const models::TrainingTypes> types = {});

  Dataset data;                               ///< on the device, without its features
  Features features;                          ///< on the device; absent if --features places them elsewhere;
                                              ///< split: rank_rows(), until the ranks make the store
  std::shared_ptr<const FeatureStore> store;  ///< for batches; null without a loader
  models::Preprocessing preprocessing;        ///< as applied to the features
  ClassWeights class_weights;                 ///< of --class-weights; fitted to each run's split
  Examples examples;                          ///< on the device, with the first split selected
  std::vector<Metric> reported;               ///< the program's own metrics, if any
  Metric metric;                              ///< selects the best epoch
  std::vector<size_t> splits;                 ///< run r trains on splits[r % size]
  int64_t runs;                               ///< --runs, or one for each of several splits
  int64_t num_features;                       ///< columns, wherever the features are
  std::string fingerprint;                    ///< of the data, if a checkpoint is read or written
  std::string graph;     ///< fingerprint of the graph that learned node features belong to
  std::string contents;  ///< fingerprint of the file's data, for --run-dir and processes
  /// What the validation metric is measured on, for --run-dir: "node_class, 500 nodes of splits/val, contents
  /// …".
  std::string validation;
  std::optional<EdgeList> edges;         ///< for inductive training
  std::optional<TypedLinks> links = {};  ///< of links between nodes of several types
  std::shared_ptr<StoredCuts> cuts;      ///< null without --cuts

  /// The nodes with predictions: all, or of several types those of the target, which are the first.
  Dataset predicted() const;
  int64_t num_embedded() const;  ///< nodes with rows of the outputs: all, or those of the target types

  /// "scatter" or "reduce": method of summing neighbours.
  const char* aggregation() const { return edges && edges->scatters() ? "scatter" : "reduce"; }
};

/// The dataset of --data, or the demo. Features stay in the file with --features file, and, for `readers`
/// (Settings::readers), where they can.
Dataset load_data(const Options& options, const std::optional<Group>& readers = {});
/// Name in messages: the path, or the demo's name.
std::string file_of(const Options& options, const Dataset& data);
/// The labelled nodes of the dataset. Throws DataError if there are none.
Examples node_examples(const Options& options, const Dataset& data);

/// The task of a training on nodes; of a typed family on the joint graph of --data.
LearningTask node_task(const Settings& settings);

/// A model of the options' family with initial weights from the default generator, on the task's device, or
/// another one, in its dtype.
template <class Model = models::NodeModel>
std::unique_ptr<Model> make_model(const Options& options, const LearningTask& task,
                                  std::optional<Device> device = {}) {
  models::ModelOptions described = options.model;
  described.edge_dim = task.preprocessing.edges.width();
  if (const auto& types = task.preprocessing.types) described.types.schema = {types, &types->schema};
  auto model = options.family.make_as<Model>(task.num_features, task.examples.outputs, described);
  model->to(device.value_or(task.data.device()));
  model->to(options.compute.dtype());
  return model;
}

}  // namespace adj::training
