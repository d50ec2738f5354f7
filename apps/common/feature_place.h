#pragma once

#include "../common.h"

// Where the features of all nodes are while a model is computed over batches of them: --features and
// --cached-rows.

namespace adj::apps {

/// The options, which are to set these.
void add_feature_options(boost::program_options::options_description& options, Settings& settings);
/// Throws UsageError where they are not what they may be, or do not go together or with --evaluation and
/// --device.
void check_feature_options(const Settings& settings);

/// How a dataset is read: --features file leaves them in it.
LoadOptions load_options(const Settings& settings);
/// The dataset on the device, but for features that are to be elsewhere.
Dataset placed_on(Device device, const Dataset& data, const Settings& settings);
/// Where batches for the dataset's device find the features of their nodes, in the precision of the training
/// but for those in a file. Rows are kept there of the nodes that most edges lead from. Throws UsageError
/// where there are none, or not so many, that could be kept.
std::shared_ptr<const FeatureStore> feature_store(const Dataset& data, const Settings& settings);

/// The model, as one that may be run layer by layer. Throws UsageError where that is not exact.
NodeModel& layered(Model& model);
/// [N, outputs]: what the model gives for all nodes, layer after layer, in its mode. `batch_size` and
/// `workers` are the settings'.
Tensor layer_by_layer(NodeModel& model, const Graph& graph, const std::shared_ptr<const FeatureStore>& x,
                      const Settings& settings);

}  // namespace adj::apps
