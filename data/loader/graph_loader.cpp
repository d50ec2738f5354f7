#include <adjoint/core/random.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/detail/batching.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/pick_graphs.h>

#include <algorithm>
#include <vector>

namespace adj {

namespace {

constexpr std::string_view kName = "graph loader";

/// As int32 on the CPU; throws unless all are graphs and none stands twice.
Tensor checked_graphs(const Tensor& which, int64_t graphs) {
  ADJ_CHECK(which && which.dims() == 1 && (which.dtype() == DType::i32 || which.dtype() == DType::i64),
            "graph loader: the graphs are {}, expected [K] int32 or int64", which.str());
  const auto ids = which.to(Device::cpu()).to(DType::i64).to_vector<int64_t>();
  std::vector<bool> seen(static_cast<size_t>(graphs));
  for (size_t k = 0; k < ids.size(); ++k) {
    ADJ_CHECK(ids[k] >= 0 && ids[k] < graphs, "graph loader: graph {} at position {}, expected 0 to {}",
              ids[k], k, graphs - 1);
    ADJ_CHECK(!seen[static_cast<size_t>(ids[k])],
              "graph loader: graph {} at position {}, which stands there before", ids[k], k);
    seen[static_cast<size_t>(ids[k])] = true;
  }
  return which.to(Device::cpu()).to(DType::i32);
}

}  // namespace

struct GraphLoader::Impl {
  Impl(const Graph& graph, const Tensor& bounds, std::shared_ptr<const FeatureStore> features,
       const Tensor& y, const Tensor& which, GraphLoaderOptions&& given)
      : options(std::move(given)),
        device(options.device.value_or(graph.device())),
        whole(graph.to(Device::cpu())),
        offsets(bounds ? bounds.to(Device::cpu()) : bounds),
        x(std::move(features)) {
    ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.numel() >= 1 && offsets.dtype() == DType::i64,
              "graph loader: offsets are {}, expected [G + 1] int64", offsets.str());
    const int64_t graphs = offsets.numel() - 1;
    // A pick looks at its own graphs alone.
    const int64_t* bounds_at = offsets.data<int64_t>();
    for (int64_t g = 0; g < graphs; ++g)
      ADJ_CHECK(bounds_at[g] <= bounds_at[g + 1],
                "graph loader: offsets[{}] is {} and offsets[{}] is {}, expected never to fall", g,
                bounds_at[g], g + 1, bounds_at[g + 1]);
    detail::check_features(kName, x, whole.num_nodes());
    detail::check_labels(kName, y, graphs);
    ADJ_CHECK(options.batch_size >= 1 && options.iterations >= 0,
              "graph loader: batches of {} and {} iterations, expected 1 or more and 0 or more",
              options.batch_size, options.iterations);
    detail::check_prefetching(kName, options.workers, options.depth);
    chosen = checked_graphs(which, graphs);
    ADJ_CHECK(!options.drop_last || chosen.numel() == 0 || chosen.numel() >= options.batch_size,
              "graph loader: without the last batch nothing is left of {} graphs in batches of {}",
              chosen.numel(), options.batch_size);
    (void)pick_graphs(whole, offsets, chosen);  // which throws for what is wrong with them
    if (y) labels = y.to(Device::cpu());
    streams = worker_streams(device, options.workers);
  }

  int64_t size() const {
    if (options.iterations > 0) return chosen.numel() > 0 ? options.iterations : 0;
    return detail::count_batches(chosen.numel(), options.batch_size, options.drop_last);
  }

  /// What is drawn for an epoch: key 0 of it is its order, key 1 + i its batch i.
  Generator generator_of(int64_t epoch, int64_t key) const {
    return Generator(options.seed).split(static_cast<uint64_t>(epoch)).split(static_cast<uint64_t>(key));
  }

  /// The graphs in the order of the epoch; as they are where batches draw.
  Tensor order(int64_t epoch) const {
    ADJ_CHECK(epoch >= 0, "graph loader: epoch {}, expected 0 or more", epoch);
    if (options.iterations > 0 || !options.shuffle) return chosen;
    Generator generator = generator_of(epoch, 0);
    return detail::gather_edges(chosen, random_permutation(chosen.numel(), generator));
  }

  Tensor graphs_of(const Tensor& ordered, int64_t epoch, int64_t i) const {
    if (options.iterations == 0) {
      const int64_t begin = i * options.batch_size;
      return ordered.rows(begin, std::min(begin + options.batch_size, ordered.numel()));
    }
    Generator generator = generator_of(epoch, 1 + i);
    const Tensor drawn = random_permutation(ordered.numel(), generator);
    return detail::gather_edges(ordered, drawn.rows(0, std::min(options.batch_size, drawn.numel())));
  }

  GraphBatch batch(const Tensor& ordered, int64_t epoch, int64_t i) const {
    const Tensor graphs = graphs_of(ordered, epoch, i);
    const PickedGraphs picked = pick_graphs(whole, offsets, graphs);
    GraphBatch batch;
    batch.graph = picked.graph.to(device);
    if (options.backward) (void)batch.graph.relation().transposed();
    batch.offsets = picked.offsets.to(device);
    batch.x = detail::gather_features(kName, *x, picked.nodes, device);
    batch.y = detail::gather_labels(labels, graphs, device);
    batch.graphs = graphs.to(device);
    return batch;
  }

  GraphLoaderOptions options;
  Device device;
  Graph whole;
  Tensor offsets;
  std::shared_ptr<const FeatureStore> x;
  Tensor labels, chosen;
  std::vector<Stream> streams;
};

GraphLoader::GraphLoader(const Graph& whole, const Tensor& offsets, std::shared_ptr<const FeatureStore> x,
                         const Tensor& labels, const Tensor& which, GraphLoaderOptions options)
    : impl_(std::make_shared<const Impl>(whole, offsets, std::move(x), labels, which, std::move(options))) {}

GraphLoader::GraphLoader(const Dataset& data, const Tensor& which, GraphLoaderOptions options)
    : GraphLoader(data.graph, data.graph_offsets, detail::features_of(kName, data, options.device),
                  data.graph_y, which, options) {}

int64_t GraphLoader::size() const { return impl_->size(); }
int64_t GraphLoader::num_graphs() const { return impl_->chosen.numel(); }
const GraphLoaderOptions& GraphLoader::options() const { return impl_->options; }

Prefetcher<GraphBatch> GraphLoader::epoch(int64_t e) const {
  return {size(),
          [impl = impl_, ordered = impl_->order(e), e](int64_t i) { return impl->batch(ordered, e, i); },
          {.workers = impl_->options.workers, .depth = impl_->options.depth, .streams = impl_->streams}};
}

GraphBatch GraphLoader::batch(int64_t e, int64_t i) const {
  ADJ_CHECK(i >= 0 && i < size(), "graph loader: batch {}, expected 0 to {}", i, size() - 1);
  return impl_->batch(impl_->order(e), e, i);
}

}  // namespace adj
