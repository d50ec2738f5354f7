#include <adjoint/data/detail/batch_data.h>
#include <adjoint/graph/subgraph.h>

namespace adj {

SubgraphBatch SubgraphBatch::to(Device device) const {
  return detail::moved(*this, device, &SubgraphBatch::graph, &SubgraphBatch::nodes, &SubgraphBatch::y,
                       &SubgraphBatch::seeds, &SubgraphBatch::weight);
}

namespace detail {

SubgraphBatches::SubgraphBatches(std::string loader, const Graph& graph,
                                 std::shared_ptr<const FeatureStore> x, const Tensor& labels,
                                 const Tensor& seeds, LoaderOptions options, const Tensor& counts)
    : loader_(std::move(loader)),
      graph_(graph.to(Device::cpu())),
      x_(std::move(x)),
      labels_(labels.to(Device::cpu())),
      counts_(counts),
      device_(options.device.value_or(graph.device())),
      options_(std::move(options)) {
  const int64_t nodes = graph_.num_nodes();
  ADJ_CHECK(graph_ && nodes >= 1, "{}: a graph without nodes", loader_);
  check_features(loader_, x_, nodes);
  check_labels(loader_, labels_, nodes);
  const Tensor checked = checked_items(loader_, "seeds", seeds, nodes, Device::cpu());
  is_seed_.resize(static_cast<size_t>(nodes));
  for (int64_t k = 0; k < checked.numel(); ++k)
    is_seed_[static_cast<size_t>(checked.data<int32_t>()[k])] = true;
  // Built here once, before workers use it.
  (void)graph_.in_edges();
  (void)graph_.relation().symmetric();
}

SubgraphBatch SubgraphBatches::make(const Graph& whole, const Tensor& nodes) const {
  const Subgraph part = subgraph_of(whole, nodes);
  std::vector<int32_t> places;
  std::vector<float> counts;
  const int32_t* node = part.nodes.data<int32_t>();
  for (int64_t k = 0; k < part.nodes.numel(); ++k) {
    if (!is_seed_[static_cast<size_t>(node[k])]) continue;
    places.push_back(static_cast<int32_t>(k));
    if (counts_) counts.push_back(counts_.data<float>()[node[k]]);
  }
  const SubgraphBatch batch{.graph = whole.is_normalized() ? part.graph.as_normalized() : part.graph,
                            .nodes = part.nodes,
                            .x = {},
                            .y = gather_labels(labels_, part.nodes),
                            .seeds = Tensor::from(places),
                            .weight = counts_ ? Tensor::from(counts) : Tensor()};
  // Derived on the CPU, without kernel launches or waits, and copied with the rest.
  derive(options_, batch.graph);
  SubgraphBatch result = batch.to(device_);
  result.x = gather_features(loader_, *x_, batch.nodes, result.nodes, device_);
  // The backward pass of a product with sparse features needs their transpose.
  if (result.x.is_sparse()) (void)result.x.sparse().relation().transposed();
  return result;
}

}  // namespace detail

}  // namespace adj
