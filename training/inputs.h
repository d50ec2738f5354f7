#pragma once

#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/models/options.h>
#include <adjoint/training/examples.h>

#include <functional>

// Preparation of a dataset's features for training and prediction.

namespace adj::training {

/// Replaces the features of a dataset, read from `file`, by features() of this kind, unless that is `file`,
/// and says so. Throws DataError if the graph cannot have them.
void replace_features(Dataset& data, const std::string& file, models::NodeFeatures kind,
                      const std::function<Features()>& features);
/// The same with --node-features of the whole graph, at the start of a training.
void set_node_features(Dataset& data, const std::string& file, const models::ModelOptions& options);
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
/// Quantises the features of a dataset and logs their size in bytes; those in the file are quantised when
/// read.
void quantize_features(Dataset& data, const FeatureQuantization& quantization);

}  // namespace adj::training
