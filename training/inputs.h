#pragma once

#include <adjoint/core/error.h>
#include <adjoint/data/dataset.h>
#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/models/model_description.h>
#include <adjoint/models/options.h>
#include <adjoint/training/examples.h>
#include <adjoint/training/settings.h>

#include <functional>
#include <string>

// Preparation of a dataset's features and edges for training and prediction.

namespace adj::training {

/// f(), whose errors become a DataError of that place in a file: "FILE: nodes/x: …".
template <class F>
auto at_place(const std::string& file, const char* place, F&& f) {
  try {
    return f();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const DataError&) {
    throw;
  } catch (const Error& error) {
    data_fail("{}: {}: {}", file, place, error.what());
  }
}

/// Replaces the features of a dataset, read from `file`, by features() of this kind, unless that is `file`,
/// and says so. Throws DataError if the graph cannot have them.
void replace_features(Dataset& data, const std::string& file, models::NodeFeatures kind,
                      const std::function<Features()>& features);
/// The same with --node-features of the whole graph, at the start of a training.
void set_node_features(Dataset& data, const std::string& file, const models::ModelOptions& options);

/// Puts the columns of --positional behind the features, which are scaled already, and logs that.
void append_positional(Dataset& data, const std::string& file, const models::ModelOptions& options);
/// Throws DataError if the dataset, read from `file`, has no features for `program`.
void require_features(const Dataset& data, const std::string& file, const std::string& program);
/// Rows of the features that a training sees: of its nodes or its graphs' nodes; absent (all) for pairs of
/// nodes.
Tensor training_rows(const Dataset& data, const Examples& examples);
/// The --features-scaling, fitted to the rows `train` of features on the CPU; absent: chosen, and logged.
/// Throws DataError if it cannot be fitted.
FeatureScaling choose_scaling(const Dataset& data, const std::string& file,
                              std::optional<FeatureScaling::Kind> how, const Tensor& train);
/// Scales the features of a dataset: those in memory at once, those in the file when read. Throws DataError
/// if the result is not finite.
void scale_features(Dataset& data, const std::string& file, const FeatureScaling& scaling);

/// The --features-bits, fitted to the scaled features of a dataset.
FeatureQuantization choose_quantization(const Dataset& data, const std::string& file, int64_t bits);
/// Warns of scaled features of another dataset that quantisation clamps, with the columns' names.
void log_clamped(const Dataset& data, const FeatureQuantization& quantization);
/// Quantises the features of a dataset and logs their size in bytes; those in the file are quantised when
/// read.
void quantize_features(Dataset& data, const FeatureQuantization& quantization);

/// What the options' model takes of the edges of a dataset read from `file`, by --edge-weights and
/// --edge-attributes. Logs what is used, and what is not. Throws DataError if the model needs attributes that
/// the file lacks, an option says that nothing may stay unused, or check_weights() does; UsageError if option
/// and model conflict.
models::EdgeInputs choose_edge_inputs(const Settings& options, const Dataset& data, const std::string& file);

/// Weights by which a model normalises sums over neighbours (GCN). A negative one makes a degree, whose root
/// is taken, smaller: throws DataError, ending with `hint`, if one is not positive then, or if there are
/// `parts`, whose degrees differ; else warns. Warns if all are 0.
void check_weights(const Graph& graph, const std::string& file, bool parts, const std::string& hint);

/// Takes what a trained model takes of the edges of a dataset read from `file`, and logs what it does not,
/// unless it was trained to ignore it. Throws DataError if something is missing, or check_weights() does.
void take_edge_inputs(Dataset& data, const std::string& file, const ModelDescription& model,
                      const models::EdgeSupport& support);

}  // namespace adj::training
