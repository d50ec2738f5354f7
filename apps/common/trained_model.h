#pragma once

#include <adjoint/models/trained_model.h>
#include <adjoint/optim/preprocessing.h>
#include <adjoint/training/metric.h>
#include <adjoint/training/options.h>

#include <optional>

// What `predict` asks of a trained model besides the library.

namespace adj::apps {

/// load_trained() of a model of nodes or graphs. Throws DataError likewise, and for a model of links, whose
/// pairs train_link scores itself.
TrainedModel load_checkpoint_model(const std::string& checkpoint, Device device);
/// The program's model with the weights of a PyG model of the same layers, whose parts `names` maps to what
/// the state calls them (nn/pyg_state.h). Throws DataError naming the file and what does not fit.
TrainedModel load_pyg(const models::ModelFamily& family, const models::ModelOptions& options,
                      const std::string& state, const std::map<std::string, std::string>& names, Task task,
                      int64_t features, int64_t outputs, const optim::Preprocessing& preprocessing,
                      Device device);

/// The metric of its training; the usual one of a PyG state. Throws DataError naming `file`.
training::Metric metric_of(const ModelDescription& model, const std::string& file);
/// The precision of its training: "float32".
training::ComputeOptions compute_options_of(const ModelDescription& model);

/// The dataset's labels of what the model says something of, nodes or graphs; absent where it has none.
const Tensor& labels_for(const ModelDescription& model, const Dataset& data);
/// Those nodes or graphs that are looked at where the model is judged: the split's test ones, or without
/// splits all with a label (absent: all, where each has several).
Tensor judged(const ModelDescription& model, const Dataset& data);
/// What the metric says of those, of outputs [E, T]; empty, and said why where there are labels, where it
/// says nothing.
std::optional<double> measure(const ModelDescription& model, const training::Metric& metric,
                              const Dataset& data, const Tensor& output);

/// float32 [N, outputs] of every node, or [G, outputs] of every graph, of a dataset on the device, whose
/// features are scaled already and may be elsewhere, as `batches` say: at once or layer after layer
/// (training/feature_place.h). Throws adj::Error where they are not all finite.
Tensor run(const TrainedModel& trained, const Dataset& data, const training::BatchOptions& batches);

}  // namespace adj::apps
