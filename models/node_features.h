#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>

#include <string>

namespace adj::models {

/// Features for graphs that have none (Xu et al. 2019): "constant" is 1 for every node, [N, 1]; "degree" the
/// number of its in-edges one-hot, sparse [N, columns], or with 0 columns as wide as the largest degree asks
/// for. On the graph's device. Throws adj::Error for a degree that has no column.
Features node_features(const std::string& kind, const Graph& graph, int64_t columns = 0);

}  // namespace adj::models
