#pragma once

#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/graph.h>

#include <functional>

namespace adj {

/// What layer `layer` makes of `x`, the features of the block's sources, the targets' first: [num_dst,
/// width].
using LayerFunction = std::function<Tensor(size_t layer, const Block& block, const Features& x)>;

/// What `layers` layers, one after the other, make of every node: [N, width], on the graph's device. Each
/// layer is computed for all nodes before the next one, in batches of targets with all of their neighbours
/// (the inference of GraphSAGE's authors): exact, with each node computed once a layer, and memory bounded by
/// what two layers make of all nodes and a batch's neighbourhood. Row i depends neither on the batch size
/// nor on the workers, but for the order in which a product sums. Throws where there are no nodes or no
/// layers, where options ask for another order or other nodes, where features are not those of the graph's
/// nodes, where options are out of range, where a layer gives another number of rows, or batches of one layer
/// of other widths or dtypes; and what a layer throws.
Tensor infer_layer_wise(const Graph& graph, const FeatureSource& x, size_t layers, const LayerFunction& layer,
                        const LoaderOptions& options = {});

}  // namespace adj
