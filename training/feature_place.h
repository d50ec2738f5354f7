#pragma once

#include "options.h"
#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/layer_wise.h>
#include <adjoint/models/model.h>

// Where the features of all nodes are while a model is computed over batches of them: --features and
// --cached-rows.

namespace adj::training {

/// How a dataset is read: --features file leaves them in it.
LoadOptions load_options(const BatchOptions& options);
/// The dataset on the device, but for features that are to be elsewhere.
Dataset placed_on(Device device, const Dataset& data, const BatchOptions& options);
/// Where batches for the dataset's device find the features of their nodes, of this dtype but for those in a
/// file. Rows are kept there of the nodes that most edges lead from. Throws UsageError where there are none,
/// or not so many, that could be kept.
std::shared_ptr<const FeatureStore> feature_store(const Dataset& data, const BatchOptions& options,
                                                  DType dtype);

/// Throws UsageError where the model cannot be run layer by layer to the same result.
void require_layers(models::Model& model);
/// [N, outputs]: what the model gives for all nodes, layer after layer, in its mode.
Tensor layer_by_layer(models::NodeModel& model, const Graph& graph,
                      const std::shared_ptr<const FeatureStore>& x, const LayerWiseOptions& options);

}  // namespace adj::training
