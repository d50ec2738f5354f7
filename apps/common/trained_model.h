#pragma once

#include "inputs.h"
#include "objective.h"
#include <adjoint/optim/preprocessing.h>

namespace adj::apps {

/// A model with its weights, and all that is needed to run it on graphs that it was not trained on.
struct TrainedModel {
  Settings settings;  ///< of the model and of its input
  int64_t features = 0, outputs = 0;
  Task task = Task::none;
  Metric metric = {};
  optim::Preprocessing preprocessing;
  std::unique_ptr<Model> model;  ///< in evaluation mode, on the device, in the precision of the training
  Objective objective;
  std::string origin;  ///< "train_gcn, epoch 66"

  /// Does it say something of graphs, and not of nodes?
  bool of_graphs() const { return is_of_graphs(task); }
  /// float32 [N, outputs] of every node, or [G, outputs] of every graph, of a dataset on the device, whose
  /// features were prepared and may be elsewhere, as `batches` say: at once or layer after layer
  /// (apps/common/feature_place.h). Throws adj::Error where they are not all finite.
  Tensor run(const Dataset& data, const Settings& batches) const;
  /// Throws UsageError where the model has no layers to be computed by themselves, but `batches` ask for
  /// them.
  void require_layers(const Settings& batches) const;

 private:
  Tensor logits(const Dataset& data, const Settings& batches) const;
};

/// What the checkpoint says, with the weights of the best epoch that its training had seen. Throws DataError
/// naming the file and what is missing or wrong in it.
TrainedModel load_trained(const std::string& checkpoint, Device device);
/// The program's model with the weights of a PyG model of the same layers, whose parts `names` maps to what
/// the state calls them (nn/pyg_state.h). Throws DataError naming the file and what does not fit.
TrainedModel load_pyg(const Program& program, const Settings& settings, const std::string& state,
                      const std::map<std::string, std::string>& names, Task task, int64_t features,
                      int64_t outputs, Device device);

}  // namespace adj::apps
