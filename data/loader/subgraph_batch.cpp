#include <adjoint/core/carrier.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/detail/batching.h>
#include <adjoint/data/detail/seeds.h>
#include <adjoint/data/loader/subgraph_batch.h>
#include <adjoint/graph/subgraph.h>

namespace adj::detail {

SubgraphBatches::SubgraphBatches(std::string loader, const Graph& graph,
                                 std::shared_ptr<const FeatureStore> x, const Tensor& labels,
                                 const Tensor& seeds, SubgraphLoading loading, const Tensor& counts)
    : loader_(std::move(loader)),
      graph_(graph.to(Device::cpu())),
      x_(std::move(x)),
      labels_(labels.to(Device::cpu())),
      counts_(counts),
      device_(loading.device.value_or(graph.device())),
      loading_(std::move(loading)) {
  const int64_t nodes = graph_.num_nodes();
  ADJ_CHECK(graph_ && nodes >= 1, "{}: a graph without nodes", loader_);
  check_features(loader_, x_, nodes);
  check_labels(loader_, labels_, nodes);
  check_prefetching(loader_, loading_.workers, loading_.depth);
  const Tensor checked = checked_seeds(loader_, seeds, nodes, Device::cpu());
  num_seeds_ = checked.numel();
  is_seed_.resize(static_cast<size_t>(nodes));
  for (int64_t k = 0; k < num_seeds_; ++k) is_seed_[static_cast<size_t>(checked.data<int32_t>()[k])] = true;
  // Made here once, not by whichever worker comes first.
  (void)graph_.in_edges();
  (void)graph_.relation().symmetric();
  streams_ = worker_streams(device_, loading_.workers);
}

SubgraphBatch SubgraphBatches::make(const Graph& whole, const Tensor& nodes) const {
  Subgraph part = subgraph_of(whole, nodes);
  std::vector<int32_t> places;
  std::vector<float> counts;
  const int32_t* node = part.nodes.data<int32_t>();
  for (int64_t k = 0; k < part.nodes.numel(); ++k) {
    if (!is_seed_[static_cast<size_t>(node[k])]) continue;
    places.push_back(static_cast<int32_t>(k));
    if (counts_) counts.push_back(counts_.data<float>()[node[k]]);
  }
  if (whole.is_normalized()) part.graph = part.graph.as_normalized();
  // Derived here, where nothing is launched and no device waited for, and brought over with the rest.
  if (loading_.derive) {
    loading_.derive(part.graph);
  } else {
    (void)part.graph.out_edges();
  }
  Carrier carrier(device_);
  SubgraphBatch batch;
  batch.graph = part.graph.carried_to(carrier);
  batch.nodes = carrier.carry(part.nodes);
  batch.seeds = carrier.carry(Tensor::from(places));
  if (counts_) batch.weight = carrier.carry(Tensor::from(counts));
  batch.y = carrier.carry(gather_labels(labels_, part.nodes, Device::cpu()));
  carrier.finish();
  const bool nodes_there = x_->reads_nodes_on() == device_;
  batch.x = gather_features(loader_, *x_, nodes_there ? batch.nodes : part.nodes, device_);
  // A product with sparse features goes back over their transpose.
  if (batch.x.is_sparse()) (void)batch.x.sparse().relation().transposed();
  return batch;
}

Prefetcher<SubgraphBatch> SubgraphBatches::prefetch(int64_t count,
                                                    std::function<SubgraphBatch(int64_t)> make) const {
  return {
      count, std::move(make), {.workers = loading_.workers, .depth = loading_.depth, .streams = streams_}};
}

}  // namespace adj::detail
