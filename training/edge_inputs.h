#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/models/preprocessing.h>
#include <adjoint/training/settings.h>

#include <string>

// Edge weights and attributes of a dataset, for training and prediction.

namespace adj::training {

/// What the options' model takes of the edges of a dataset read from `file`, by --edge-weights and
/// --edge-attributes. Logs what is used, and what is not. Throws DataError if the model needs attributes that
/// the file lacks, an option says that nothing may stay unused, or check_weights() does; UsageError if option
/// and model conflict.
models::EdgeInputs choose_edge_inputs(const Settings& options, const Dataset& data, const std::string& file);

/// Weights by which a model normalises sums over neighbours (GCN). A negative one makes a degree, whose root
/// is taken, smaller: throws DataError, ending with `hint`, if one is not positive then, or if there are
/// `parts`, whose degrees differ; else warns. Warns if all are 0.
void check_weights(const Graph& graph, const std::string& file, bool parts, const std::string& hint);

/// Takes what a trained model takes of the edges of a dataset read from `file`, and logs what it does not.
/// Throws DataError if something is missing, or check_weights() does.
void take_edge_inputs(Dataset& data, const std::string& file, const models::EdgeInputs& edges,
                      const models::EdgeSupport& support, const std::string& model);

}  // namespace adj::training
