#include <adjoint/core/random.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/detail/batching.h>
#include <adjoint/data/detail/seeds.h>
#include <adjoint/data/loader/neighbor_loader.h>
#include <adjoint/graph/edge_attributes.h>

#include <algorithm>

namespace adj {

namespace {

constexpr std::string_view kName = "neighbor loader";

/// What is drawn for an epoch: key 0 of it is its order, key 1 + i its batch i.
Generator generator_of(uint64_t seed, int64_t epoch) {
  return Generator(seed).split(static_cast<uint64_t>(epoch));
}

}  // namespace

struct NeighborLoader::Impl {
  Impl(Graph graph, std::shared_ptr<const FeatureStore> features, const Tensor& y, const Tensor& seed_nodes,
       NeighborLoaderOptions&& given)
      : options(std::move(given)),
        nodes(graph.num_nodes()),
        home(graph.device()),
        device(options.device.value_or(home)),
        sampler(std::move(graph), options.sampling),
        x(std::move(features)),
        labels(y),
        seeds(detail::checked_seeds(kName, seed_nodes, nodes, home)) {
    detail::check_features(kName, x, nodes);
    detail::check_labels(kName, labels, nodes);
    ADJ_CHECK(options.batch_size >= 1, "neighbor loader: a batch size of {}, expected 1 or more",
              options.batch_size);
    ADJ_CHECK(home.is_cpu() || device == home, "neighbor loader: a graph on {} is not sampled for {}",
              home.str(), device.str());
    ADJ_CHECK(!options.drop_last || seeds.numel() == 0 || seeds.numel() >= options.batch_size,
              "neighbor loader: without the last batch nothing is left of {} seeds in batches of {}",
              seeds.numel(), options.batch_size);
    detail::check_prefetching(kName, options.workers, options.depth);
    streams = worker_streams(device, options.workers);
  }

  int64_t size() const { return detail::count_batches(seeds.numel(), options.batch_size, options.drop_last); }

  Tensor order(int64_t epoch) const {
    ADJ_CHECK(epoch >= 0, "neighbor loader: epoch {}, expected 0 or more", epoch);
    if (!options.shuffle) return seeds;
    Generator generator = generator_of(options.seed, epoch).split(0);
    return detail::gather_edges(seeds, random_permutation(seeds.numel(), generator, home));
  }

  NeighborBatch batch(const Tensor& ordered, int64_t epoch, int64_t i) const {
    const int64_t begin = i * options.batch_size;
    NeighborBatch batch;
    batch.seeds = ordered.rows(begin, std::min(begin + options.batch_size, ordered.numel()));
    const uint64_t draw = generator_of(options.seed, epoch).split(1 + static_cast<uint64_t>(i)).seed();
    batch.blocks = sampler.sample(batch.seeds, draw);
    batch.x = detail::gather_features(kName, *x, batch.blocks.front().src_nodes().to(DType::i32), device);
    batch.y = detail::gather_labels(labels, batch.seeds, device);
    batch.seeds = batch.seeds.to(device);
    for (Block& block : batch.blocks) {
      block = block.to(device);
      if (options.backward) (void)block.relation().transposed();
    }
    return batch;
  }

  NeighborLoaderOptions options;
  int64_t nodes;
  Device home, device;
  NeighborSampler sampler;
  std::shared_ptr<const FeatureStore> x;
  Tensor labels, seeds;
  std::vector<Stream> streams;
};

NeighborLoader::NeighborLoader(Graph graph, std::shared_ptr<const FeatureStore> x, const Tensor& labels,
                               const Tensor& seeds, NeighborLoaderOptions options)
    : impl_(std::make_shared<const Impl>(std::move(graph), std::move(x), labels, seeds, std::move(options))) {
}

NeighborLoader::NeighborLoader(const Graph& graph, const Features& x, const Tensor& labels,
                               const Tensor& seeds, NeighborLoaderOptions options)
    : NeighborLoader(graph, make_feature_store(x), labels, seeds, std::move(options)) {}

NeighborLoader::NeighborLoader(const Dataset& data, const Tensor& seeds, NeighborLoaderOptions options)
    : NeighborLoader(data.graph, detail::features_of(kName, data, options.device), data.y, seeds, options) {}

int64_t NeighborLoader::size() const { return impl_->size(); }
int64_t NeighborLoader::num_seeds() const { return impl_->seeds.numel(); }
const NeighborLoaderOptions& NeighborLoader::options() const { return impl_->options; }

Prefetcher<NeighborBatch> NeighborLoader::epoch(int64_t e) const {
  return {size(),
          [impl = impl_, ordered = impl_->order(e), e](int64_t i) { return impl->batch(ordered, e, i); },
          {.workers = impl_->options.workers, .depth = impl_->options.depth, .streams = impl_->streams}};
}

NeighborBatch NeighborLoader::batch(int64_t e, int64_t i) const {
  ADJ_CHECK(i >= 0 && i < size(), "neighbor loader: batch {}, expected 0 to {}", i, size() - 1);
  return impl_->batch(impl_->order(e), e, i);
}

}  // namespace adj
