#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/layer_wise.h>
#include <adjoint/models/model.h>
#include <adjoint/training/options.h>

// Location of node features for mini-batch computation: --features and --cached-rows.

namespace adj::training {

/// With --features file they are not loaded.
LoadOptions load_options(const BatchOptions& options);
/// The dataset on the device, without features located elsewhere.
Dataset placed_on(Device device, const Dataset& data, const BatchOptions& options);
/// For --features split: the rows [⌊rank N / ranks⌋, ⌊(rank + 1) N / ranks⌋) of `rank` out of the features,
/// which are on the CPU, on the dataset's device. Throws UsageError for sparse features.
Features rank_rows(const Dataset& data, const ExecutionOptions& compute);
/// Feature store for batches on the dataset's device, in this dtype (files keep theirs). Caches the rows of
/// the nodes with the most out-edges on the device. Throws UsageError if there are no features, or fewer rows
/// than should be cached.
std::shared_ptr<const FeatureStore> feature_store(const Dataset& data, const BatchOptions& options,
                                                  DType dtype);

/// Throws UsageError if the model cannot run exactly layer by layer.
void require_layers(const models::Model& model);
/// [N, outputs] of all nodes, computed layer by layer, in the model's mode.
Tensor layer_by_layer(models::NodeModel& model, const Graph& graph,
                      const std::shared_ptr<const FeatureStore>& x, const LoaderOptions& options);

}  // namespace adj::training
