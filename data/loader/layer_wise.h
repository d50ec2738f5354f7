#pragma once

#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/block.h>
#include <adjoint/graph/graph.h>

#include <functional>

namespace adj {

/// Output of layer `layer` for `x`, the features of the block's sources, the targets first: [num_dst, width].
using LayerFunction = std::function<Tensor(size_t layer, const Block& block, const Features& x)>;

/// Output of `layers` layers for every node: [N, width], on the graph's device. Each layer is computed for
/// all nodes before the next one, in batches of targets with all their neighbours (the inference of
/// GraphSAGE's authors): exact, each node is computed once per layer, and memory holds two layers' outputs
/// and a batch's neighbourhood. Row i does not depend on batch size or workers, except for the summation
/// order of products. Throws without nodes or layers, for options with another order or out of range, if
/// features are not [N, *], if a layer returns another number of rows, or its batches differ in width or
/// dtype; and what a layer throws.
Tensor infer_layer_wise(const Graph& graph, const FeatureInput& x, size_t layers, const LayerFunction& layer,
                        const LoaderOptions& options = {});

}  // namespace adj
