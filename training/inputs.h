#pragma once

#include "examples.h"
#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>

// What trainings and predictions make of a dataset's features.

namespace adj::training {

/// Throws DataError where the dataset, read from `file`, has no features for `program`.
void require_features(const Dataset& data, const std::string& file, const std::string& program);
/// The rows of the features that a training sees: of its nodes, of its graphs' nodes, or, of pairs of nodes,
/// all (absent).
Tensor training_rows(const Dataset& data, const Examples& examples);
/// What --features-scaling asks for, fitted to the rows `train` of features on the CPU, with a line on what
/// `auto` chose. Throws DataError where it cannot be fitted.
FeatureScaling choose_scaling(const Dataset& data, const std::string& file, const std::string& how,
                              const Tensor& train);
/// Scales the features of a dataset: in memory at once, and those left in the file as they are read. Throws
/// DataError where the result is not finite.
void scale_features(Dataset& data, const std::string& file, const FeatureScaling& scaling);

/// What --features-bits asks for, fitted to the features of a dataset as they were scaled.
FeatureQuantization choose_quantization(const Dataset& data, const std::string& file, int64_t bits);
/// Holds the features of a dataset in as many bits, and says how many bytes that takes; those left in the
/// file are rounded so as they are read.
void quantize_features(Dataset& data, const FeatureQuantization& quantization);

}  // namespace adj::training
