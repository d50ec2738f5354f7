#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>
#include <adjoint/models/options.h>

namespace adj::models {

/// Features for graphs without any (Xu et al. 2019): `constant` is 1 for every node, [N, 1]; `degree` the
/// one-hot in-degree, sparse [N, columns]; 0 columns: as many as the largest degree needs. On the graph's
/// device. Throws adj::Error for a degree without a column.
Features node_features(NodeFeatures kind, const Graph& graph, int64_t columns = 0);

}  // namespace adj::models
