#include <adjoint/core/random.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/detail/batching.h>
#include <adjoint/data/loader/cluster_loader.h>
#include <adjoint/graph/order/partition.h>

#include <algorithm>
#include <numeric>

namespace adj {

namespace {

constexpr std::string_view kName = "cluster loader";

}  // namespace

struct ClusterLoader::Impl {
  Impl(const Graph& graph, std::shared_ptr<const FeatureStore> x, const Tensor& labels, const Tensor& seeds,
       const Tensor& part, ClusterLoaderOptions&& given)
      : options(std::move(given)),
        batches(std::string(kName), graph, std::move(x), labels, seeds, options.loading) {
    ADJ_CHECK(options.parts_per_batch >= 1, "cluster loader: {} parts a batch, expected 1 or more",
              options.parts_per_batch);
    const int64_t count = batches.graph().num_nodes();
    ADJ_CHECK(part && part.dims() == 1 && part.dtype() == DType::i32 && part.numel() == count,
              "cluster loader: parts are {}, expected int32 [{}]", part.str(), count);
    const std::vector<int32_t> of = part.to_vector<int32_t>();
    std::vector<int64_t> ends(of.size() + 1, 0);
    for (size_t i = 0; i < of.size(); ++i) {
      ADJ_CHECK(of[i] >= 0 && of[i] < count, "cluster loader: part[{}] is {}, expected 0 to {}", i, of[i],
                count - 1);
      ++ends[static_cast<size_t>(of[i]) + 1];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<int64_t> next(ends.begin(), ends.end() - 1);
    nodes.resize(of.size());
    for (size_t i = 0; i < of.size(); ++i)
      nodes[static_cast<size_t>(next[static_cast<size_t>(of[i])]++)] = static_cast<int32_t>(i);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    offsets = std::move(ends);
  }

  int64_t parts() const { return std::ssize(offsets) - 1; }
  int64_t size() const { return detail::count_batches(parts(), options.parts_per_batch); }

  /// int32 [P]: parts as epoch `e` takes them.
  Tensor order(int64_t e) const {
    ADJ_CHECK(e >= 0, "cluster loader: epoch {}, expected 0 or more", e);
    if (options.shuffle) {
      Generator generator = Generator(options.seed).split(static_cast<uint64_t>(e));
      return random_permutation(parts(), generator);
    }
    std::vector<int32_t> all(static_cast<size_t>(parts()));
    std::iota(all.begin(), all.end(), 0);
    return Tensor::from(all);
  }

  SubgraphBatch batch(const Tensor& ordered, int64_t i) const {
    std::vector<int32_t> chosen;
    for (int64_t k = i * parts() / size(); k < (i + 1) * parts() / size(); ++k) {
      const auto p = static_cast<size_t>(ordered.data<int32_t>()[k]);
      chosen.insert(chosen.end(), nodes.begin() + offsets[p], nodes.begin() + offsets[p + 1]);
    }
    return batches.make(batches.graph(), Tensor::from(chosen));
  }

  ClusterLoaderOptions options;
  detail::SubgraphBatches batches;
  std::vector<int32_t> nodes;    // part after part, ascending within each
  std::vector<int64_t> offsets;  // where the nodes of each part begin, and the last one's end
};

namespace {

Tensor partition_of(const Dataset& data, const ClusterLoaderOptions& options) {
  ADJ_CHECK(options.parts >= 0, "cluster loader: {} parts, expected 0 or more", options.parts);
  if (options.parts > 0) return metis_partition(data.graph, options.parts);
  ADJ_CHECK(data.part, "cluster loader: dataset '{}' has no partition, and no number of parts was asked for",
            data.name);
  return data.part;
}

}  // namespace

ClusterLoader::ClusterLoader(const Graph& graph, std::shared_ptr<const FeatureStore> x, const Tensor& labels,
                             const Tensor& seeds, const Tensor& part, ClusterLoaderOptions options)
    : impl_(std::make_shared<const Impl>(graph, std::move(x), labels, seeds, part, std::move(options))) {}

ClusterLoader::ClusterLoader(const Graph& graph, const Features& x, const Tensor& labels, const Tensor& seeds,
                             const Tensor& part, ClusterLoaderOptions options)
    : ClusterLoader(graph, make_feature_store(x), labels, seeds, part, std::move(options)) {}

ClusterLoader::ClusterLoader(const Dataset& data, const Tensor& seeds, ClusterLoaderOptions options)
    // In braces, by which the features are looked for before METIS takes its time.
    : ClusterLoader{data.graph,
                    detail::features_of(kName, data, options.loading.device),
                    data.y,
                    seeds,
                    partition_of(data, options),
                    options} {}

int64_t ClusterLoader::size() const { return impl_->size(); }
int64_t ClusterLoader::num_parts() const { return impl_->parts(); }
int64_t ClusterLoader::num_seeds() const { return impl_->batches.num_seeds(); }
const ClusterLoaderOptions& ClusterLoader::options() const { return impl_->options; }

Prefetcher<SubgraphBatch> ClusterLoader::epoch(int64_t e) const {
  return impl_->batches.prefetch(
      size(), [impl = impl_, ordered = impl_->order(e)](int64_t i) { return impl->batch(ordered, i); });
}

SubgraphBatch ClusterLoader::batch(int64_t e, int64_t i) const {
  ADJ_CHECK(i >= 0 && i < size(), "cluster loader: batch {}, expected 0 to {}", i, size() - 1);
  return impl_->batch(impl_->order(e), i);
}

}  // namespace adj
