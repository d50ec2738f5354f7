#include <adjoint/data/loader/layer_wise.h>
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/kernels/index/select.h>

namespace adj {

Tensor infer_layer_wise(const Graph& graph, const FeatureInput& source, size_t layers,
                        const LayerFunction& layer, const LoaderOptions& options) {
  ADJ_CHECK(layers >= 1 && layer, "layer-wise inference: no layer");
  ADJ_CHECK(
      !options.shuffle && !options.drop_last && options.steps == 0,
      "layer-wise inference: visits all nodes in order, expected neither shuffle nor drop_last nor steps");
  NeighborLoaderOptions all_neighbors;
  all_neighbors.sampling.fanouts = {-1};
  all_neighbors.loading = options;
  all_neighbors.loading.backward = false;
  const int64_t nodes = graph.num_nodes();
  ADJ_CHECK(nodes >= 1, "layer-wise inference: a graph without nodes");
  Tensor all = Tensor::empty({nodes}, DType::i32, graph.device());
  kernels::iota({.y = all});
  std::shared_ptr<const FeatureStore> x = source;
  Tensor result;
  for (size_t l = 0; l < layers; ++l) {
    const NeighborLoader loader(graph, std::move(x), {}, all, all_neighbors);
    result = {};
    int64_t begin = 0;
    for (const NeighborBatch& batch : loader.epoch(0)) {
      const Tensor y = layer(l, batch.blocks.back(), batch.x);
      ADJ_CHECK(y && y.dims() == 2 && y.size(0) == batch.size() &&
                    (!result || (y.size(1) == result.size(1) && y.dtype() == result.dtype())),
                "layer-wise inference: layer {} returned {} for {} targets, expected [{}, {}", l, y.str(),
                batch.size(), batch.size(),
                result ? fmt::format("{}] {}", result.size(1), name_of(result.dtype())) : "width]");
      if (!result) result = Tensor::empty({nodes, y.size(1)}, y.dtype(), graph.device());
      result.rows(begin, begin + batch.size()).copy_(y);
      begin += batch.size();
    }
    x = make_feature_store(Features(result));
  }
  return result;
}

}  // namespace adj
