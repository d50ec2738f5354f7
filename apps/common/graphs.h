#pragma once

#include "../common.h"

// What programs that learn something of whole graphs share.

namespace adj::apps {

/// Makes `program` one of a GraphModel: its examples are a dataset's graphs, by the splits of its file, or
/// else by --folds, in which each fold is at once what is validated and tested. Defaults are the training of
/// Xu et al. 2019.
void learn_graphs(Program& program);
/// float32 [G, outputs] of all graphs of a dataset, as `model` gives them in its mode, in batches.
Tensor graph_outputs(GraphModel& model, const Dataset& data, int64_t outputs, const Settings& settings);

/// Gives every node the features that --node-features asks for in the place of the file's. Degrees have so
/// many `columns` (0: as many as the data asks for). Throws DataError naming `file` where a degree is above
/// those.
void set_node_features(Dataset& data, const std::string& file, const Settings& settings, int64_t columns = 0);

}  // namespace adj::apps
