#pragma once

#include <adjoint/adjoint.h>
#include <adjoint/training.h>

#include <optional>

// Functions of `predict` for trained models.

namespace adj::apps {

/// load_trained() with a known metric, for a model of links without.
TrainedModel load_checkpoint_model(const std::string& checkpoint, Device device);

/// The metric of its training; the default one for a PyG state. Throws DataError naming `file`.
training::Metric metric_of(const ModelDescription& model, const std::string& file);
/// The precision of its training: "float32".
training::ExecutionOptions execution_options_of(const ModelDescription& model);

/// Columns and classes of a dataset, read from `file`, in the model's order, by their names
/// (data/feature_names.h). Says if the graph is directed and the training's was not, or the reverse.
void match_names(Dataset& data, const std::string& file, const ModelDescription& model);
/// The split of a dataset with splits on which the model was trained, or the first if the file has no such
/// one; says which unless it is the only one.
size_t split_of_training(const ModelDescription& model, const Dataset& data, const std::string& file);

/// Whether a dataset that was prepared as for a training has the data and the split of the model's; true if
/// the model does not say. `whole`: its graph with all values of edges.
bool has_training_split(const ModelDescription& model, Dataset data, const Graph& whole);

/// The dataset's labels of the model's kind, nodes, graphs or edges; absent if it has none.
const Tensor& labels_for(const ModelDescription& model, const Dataset& data);
/// The nodes, graphs or edges for the evaluation: the split's test ones, or without splits all with a label.
Tensor judged(const ModelDescription& model, const Dataset& data);
/// The metric on those, for outputs [E, T]; empty if it is undefined, with a message if there are labels.
std::optional<double> measure(const ModelDescription& model, const training::Metric& metric,
                              const Dataset& data, const Tensor& output);

/// float32 [N, outputs] of all nodes, [G, outputs] of all graphs or [M, outputs] of all edges of a dataset on
/// the device; for a model of links the embeddings of all nodes. Features are already scaled, in the place
/// given by `batches`; runs in one pass or layer by layer (training/feature_place.h). Throws adj::Error for
/// non-finite results.
Tensor run(const TrainedModel& trained, const Dataset& data, const training::BatchOptions& batches);

}  // namespace adj::apps
