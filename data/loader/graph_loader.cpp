#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/graph/subgraph.h>

namespace adj {

namespace {

constexpr std::string_view kGraphLoader = "graph loader";

Loader<GraphBatch> loader_of(const Graph& graph, const Tensor& bounds, std::shared_ptr<const FeatureStore> x,
                             const Tensor& y, const Tensor& which, const LoaderOptions& options) {
  const Device device = options.device.value_or(graph.device());
  const Graph whole = graph.to(Device::cpu());
  const Tensor offsets = bounds.to(Device::cpu()), labels = y.to(Device::cpu());
  ADJ_CHECK(offsets && offsets.dims() == 1 && offsets.numel() >= 1 && offsets.dtype() == DType::i64,
            "graph loader: offsets are {}, expected [G + 1] int64", offsets.str());
  const int64_t graphs = offsets.numel() - 1;
  // pick_graphs() checks only the graphs that it picks.
  const int64_t* bounds_at = offsets.data<int64_t>();
  for (int64_t g = 0; g < graphs; ++g)
    ADJ_CHECK(bounds_at[g] <= bounds_at[g + 1],
              "graph loader: offsets[{}] is {} and offsets[{}] is {}, expected ascending", g, bounds_at[g],
              g + 1, bounds_at[g + 1]);
  detail::check_features(kGraphLoader, x, whole.num_nodes());
  detail::check_labels(kGraphLoader, labels, graphs);
  const Tensor chosen = detail::checked_items(kGraphLoader, "graphs", which, graphs, Device::cpu());
  (void)pick_graphs(whole, offsets, chosen);  // throws for invalid graphs
  return {{.loader = std::string(kGraphLoader),
           .things = "graphs",
           .items = chosen,
           .device = device,
           .batch_size = 32,
           .derives = true},
          options,
          [=](const BatchIndex& index) {
            const PickedGraphs picked = pick_graphs(whole, offsets, index.items);
            const GraphBatch batch{.graph = picked.graph,
                                   .offsets = picked.offsets,
                                   .x = {},
                                   .y = detail::gather_labels(labels, index.items),
                                   .graphs = index.items,
                                   .nodes = picked.nodes};
            detail::derive(options, batch.graph);
            GraphBatch result = batch.to(device);
            result.x = detail::gather_features(kGraphLoader, *x, batch.nodes, result.nodes, device);
            return result;
          }};
}

}  // namespace

GraphBatch GraphBatch::to(Device device) const {
  return detail::moved(*this, device, &GraphBatch::graph, &GraphBatch::offsets, &GraphBatch::y,
                       &GraphBatch::graphs, &GraphBatch::nodes);
}

GraphLoader::GraphLoader(const Graph& whole, const Tensor& offsets, const FeatureInput& x,
                         const Tensor& labels, const Tensor& which, const LoaderOptions& options)
    : Loader(loader_of(whole, offsets, x, labels, which, options)) {}

GraphLoader::GraphLoader(const Dataset& data, const Tensor& which, const LoaderOptions& options)
    : GraphLoader(data.graph, data.graph_offsets, detail::features_of(kGraphLoader, data, options.device),
                  data.graph_y, which, options) {}

}  // namespace adj
