#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/neighbor_loader.h>

namespace adj {

namespace {

constexpr std::string_view kNeighborLoader = "neighbor loader";

Loader<NeighborBatch> loader_of(Graph graph, std::shared_ptr<const FeatureStore> x, const Tensor& y,
                                const Tensor& seeds, const NeighborLoaderOptions& options) {
  const int64_t nodes = graph.num_nodes();
  const Device home = graph.device(), device = options.loading.device.value_or(home);
  detail::check_features(kNeighborLoader, x, nodes);
  detail::check_labels(kNeighborLoader, y, nodes);
  detail::check_sampled_for(kNeighborLoader, home, device);
  const Tensor items = detail::checked_items(kNeighborLoader, "seeds", seeds, nodes, home);
  const NeighborSampler sampler(std::move(graph), options.sampling);
  return {{.loader = std::string(kNeighborLoader),
           .things = "seeds",
           .items = items,
           .device = device,
           .batch_size = 1024},
          options.loading,
          [=](const BatchIndex& index) {
            NeighborBatch batch{.blocks = sampler.sample(index.items, index.draws.seed()),
                                .x = {},
                                .y = detail::gather_labels(y, index.items),
                                .seeds = index.items};
            const size_t first = options.rows ? options.first_transposed : batch.blocks.size();
            detail::derive(options.loading, batch.blocks, first);
            NeighborBatch result = batch.to(device);
            if (options.plans && options.rows) detail::plan_blocks(options.loading, result.blocks, first);
            if (options.plans) detail::derive_blocks(options.loading, result.blocks);
            if (!options.features) return result;
            result.x = detail::gather_features(kNeighborLoader, *x, batch.blocks.front().src_nodes(),
                                               result.blocks.front().src_nodes(), device);
            return result;
          }};
}

}  // namespace

NeighborBatch NeighborBatch::to(Device device) const {
  return detail::moved(*this, device, &NeighborBatch::blocks, &NeighborBatch::y, &NeighborBatch::seeds);
}

NeighborLoader::NeighborLoader(Graph graph, const FeatureInput& x, const Tensor& labels, const Tensor& seeds,
                               const NeighborLoaderOptions& options)
    : Loader(loader_of(std::move(graph), x, labels, seeds, options)) {}

NeighborLoader::NeighborLoader(const Dataset& data, const Tensor& seeds, const NeighborLoaderOptions& options)
    : NeighborLoader(data.graph, detail::features_of(kNeighborLoader, data, options.loading.device), data.y,
                     seeds, options) {}

}  // namespace adj
