#pragma once

#include "inputs.h"
#include <adjoint/training/examples.h>
#include <adjoint/training/objective.h>

#include <memory>

namespace adj::apps {

/// What a run is made of, while it goes on.
struct Training {
  const Settings& settings;
  int64_t seed;  ///< of the run
  Model& model;
  optim::Optimizer& optimizer;
  const Objective& objective;
  const Dataset& data;       ///< whose split in use means nothing here
  const Examples& examples;  ///< with the run's split in use
  const Features& features;  ///< on the device; absent where --features says that they are elsewhere
  std::shared_ptr<const FeatureStore> source;  ///< where batches find them; null without a loader

  /// The model of a program of nodes.
  NodeModel& node_model() const { return dynamic_cast<NodeModel&>(model); }
};

/// How the epochs of a run are computed: over the whole graph at once, or over mini-batches. An epoch depends
/// on the run's state and the epoch's number alone, so that a checkpoint at its end is enough to go on from.
class Epochs {
 public:
  /// Of all examples, in evaluation mode.
  struct Evaluation {
    Tensor loss;     ///< over the validation examples, a scalar
    Tensor outputs;  ///< [E, outputs], as Objective gives them
  };

  virtual ~Epochs() = default;
  /// Trains the epoch after the first `done`: its loss, the mean over the training examples, a scalar on the
  /// device.
  virtual Tensor train(int64_t done) = 0;
  /// May be overwritten by the next call.
  virtual Evaluation validate() = 0;
  /// The outputs alone.
  virtual Tensor outputs() = 0;
};

/// The whole graph in one step, which a GPU records; `edges`, where there are some, are the graph that each
/// epoch begins with.
std::unique_ptr<Epochs> full_batch(const Training& training, const EdgeList* edges,
                                   optim::NonFiniteMonitor* losses);
/// A step for each batch of a NeighborLoader, and evaluations layer by layer, or over the whole graph where
/// --evaluation says so.
std::unique_ptr<Epochs> neighbor_batches(const Training& training, optim::NonFiniteMonitor* losses);
/// A step for each batch of a ClusterLoader over the dataset's partition, or of a SaintLoader, that has
/// training nodes; evaluations likewise.
std::unique_ptr<Epochs> cluster_batches(const Training& training, optim::NonFiniteMonitor* losses);
std::unique_ptr<Epochs> saint_batches(const Training& training, optim::NonFiniteMonitor* losses);

/// For --loader cluster gives the dataset the partition that it trains on: of --parts parts, else its own,
/// else one of METIS's into parts of some hundred nodes.
void partition_for_clusters(Dataset& data, const Settings& settings);

/// As --loader says. `losses`, optional, is told the loss of each epoch.
inline std::unique_ptr<Epochs> make_epochs(const Training& training, const EdgeList* edges,
                                           optim::NonFiniteMonitor* losses) {
  if (training.settings.loader == "neighbor") return neighbor_batches(training, losses);
  if (training.settings.loader == "cluster") return cluster_batches(training, losses);
  if (training.settings.loader == "saint") return saint_batches(training, losses);
  return full_batch(training, edges, losses);
}

/// Times a full-batch step over a new edge list by each way of summing, and sets the faster one.
void measure_aggregation(const Training& training);

}  // namespace adj::apps
