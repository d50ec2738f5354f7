#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/graph/order/partition.h>

#include <algorithm>
#include <numeric>

namespace adj {

namespace {

constexpr std::string_view kClusterLoader = "cluster loader";

/// Nodes sorted by part, then by number. Part p has nodes[offsets[p]] to nodes[offsets[p + 1]].
struct Clusters {
  std::vector<int32_t> nodes;
  std::vector<int64_t> offsets;
};

Clusters clusters_of(const Tensor& part, int64_t count) {
  ADJ_CHECK(part && part.dims() == 1 && part.dtype() == DType::i32 && part.numel() == count,
            "cluster loader: parts are {}, expected int32 [{}]", part.str(), count);
  const std::vector<int32_t> parts = part.to_vector<int32_t>();
  std::vector<int64_t> ends(parts.size() + 1, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    ADJ_CHECK(parts[i] >= 0 && parts[i] < count, "cluster loader: part[{}] is {}, expected 0 to {}", i,
              parts[i], count - 1);
    ++ends[static_cast<size_t>(parts[i]) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<int64_t> next(ends.begin(), ends.end() - 1);
  std::vector<int32_t> nodes(parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    nodes[static_cast<size_t>(next[static_cast<size_t>(parts[i])]++)] = static_cast<int32_t>(i);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return {std::move(nodes), std::move(ends)};
}

Loader<SubgraphBatch> loader_of(const Graph& graph, std::shared_ptr<const FeatureStore> x,
                                const Tensor& labels, const Tensor& seeds, const Tensor& part,
                                const LoaderOptions& options) {
  const auto batches = std::make_shared<const detail::SubgraphBatches>(std::string(kClusterLoader), graph,
                                                                       std::move(x), labels, seeds, options);
  const auto clusters = std::make_shared<const Clusters>(clusters_of(part, batches->graph().num_nodes()));
  return {{.loader = std::string(kClusterLoader),
           .things = "parts",
           .items = detail::numbers(std::ssize(clusters->offsets) - 1),
           .device = batches->device(),
           .even = true,
           .derives = true},
          options,
          [batches, clusters](const BatchIndex& index) {
            std::vector<int32_t> chosen;
            const auto& [nodes, offsets] = *clusters;
            for (const int32_t p : index.items.to_vector<int32_t>())
              chosen.insert(chosen.end(), nodes.begin() + offsets[static_cast<size_t>(p)],
                            nodes.begin() + offsets[static_cast<size_t>(p) + 1]);
            return batches->make(batches->graph(), Tensor::from(chosen));
          }};
}

Tensor partition_of(const Dataset& data, const ClusterLoaderOptions& options) {
  ADJ_CHECK(options.parts >= 0, "cluster loader: {} parts, expected 0 or more", options.parts);
  if (options.parts > 0) return metis_partition(data.graph, options.parts);
  ADJ_CHECK(data.part, "cluster loader: dataset '{}' has no partition, and no number of parts was given",
            data.name);
  return data.part;
}

}  // namespace

ClusterLoader::ClusterLoader(const Graph& graph, const FeatureInput& x, const Tensor& labels,
                             const Tensor& seeds, const Tensor& part, const ClusterLoaderOptions& options)
    : Loader(loader_of(graph, x, labels, seeds, part, options.loading)) {}

ClusterLoader::ClusterLoader(const Dataset& data, const Tensor& seeds, const ClusterLoaderOptions& options)
    // Braces: the arguments are evaluated in order, so that missing features are found before METIS runs.
    : ClusterLoader{data.graph,
                    detail::features_of(kClusterLoader, data, options.loading.device),
                    data.y,
                    seeds,
                    partition_of(data, options),
                    options} {}

}  // namespace adj
