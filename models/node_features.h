#pragma once

#include <adjoint/graph/features.h>
#include <adjoint/graph/graph.h>
#include <adjoint/models/options.h>

#include <string>

namespace adj::models {

/// Features of nodes from the structure of their graph, on its device:
///  - `constant`: 1 for every node, [N, 1] (Xu et al. 2019);
///  - `degree`: the number of in-edges, [N, 1];
///  - `one_hot_degree`: sparse [N, columns]; 0 columns: as many as the largest degree needs (Xu et al. 2019);
///  - `random_walk`: the probability that a walk along out-edges, each as likely, is back at its start after
///    1, 2, …, `columns` steps (Dwivedi et al. 2022, eq. 3; PyG's AddRandomWalkPE without weights). Exact, at
///    the cost of visiting the edges that `columns` steps from each node reach: throws before it takes hours;
///  - `learned`: one column per node, sparse [N, N], so that the first layer's weights embed each node
///    (Kipf & Welling 2017, section 3.1: X = I).
/// `columns` are those of the training, 0 if there was none; `random_walk` needs them. Throws adj::Error for
/// a degree without a column, and for another number of nodes than was learned. In checkpoints from
/// before one_hot_degree had its name, several columns of `degree` are one-hot.
Features node_features(NodeFeatures kind, const Graph& graph, int64_t columns = 0);

/// Identifies a graph with its weights and attributes, on any device.
std::string fingerprint(const Graph& graph);

}  // namespace adj::models
