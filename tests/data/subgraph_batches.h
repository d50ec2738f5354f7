#pragma once

#include "loader_batches.h"

namespace adj::test {

/// Skewed, undirected; optionally with weights and an edge attribute.
inline Dataset small_citations(bool sparse = false, bool weighted = false) {
  Dataset data = make_citation_dataset({.nodes = 300, .classes = 3, .features = 20, .val = 30, .test = 60});
  if (!sparse) data.x = Features(data.x.to_dense());
  if (!weighted) return data;
  const int64_t edges = data.graph.num_edges();
  std::vector<float> number;
  for (int64_t e = 0; e < edges; ++e) number.push_back(static_cast<float>(e));
  data.graph = data.graph.with_edge_weight(random_uniform({edges}, 0.5, 2.0, default_generator()))
                   .with_edge_attr("number", Tensor::from(number));
  return data;
}

inline std::vector<int32_t> nodes_of(const std::vector<SubgraphBatch>& all) {
  return numbers_of(all, &SubgraphBatch::nodes);
}

/// True if the batch's features, labels and seed flags match the dataset and `seeds`.
inline bool agrees(const SubgraphBatch& batch, const Dataset& data, const Tensor& seeds) {
  const auto nodes = batch.nodes.to_vector<int32_t>(), seed_nodes = seeds.to_vector<int32_t>();
  std::vector<int32_t> places;
  for (size_t k = 0; k < nodes.size(); ++k)
    if (std::find(seed_nodes.begin(), seed_nodes.end(), nodes[k]) != seed_nodes.end())
      places.push_back(static_cast<int32_t>(k));
  return std::is_sorted(nodes.begin(), nodes.end()) && batch.seeds.to_vector<int32_t>() == places &&
         batch.graph.num_nodes() == batch.size() && has_rows(batch.x, data, batch.nodes) &&
         same_bits(batch.y.to(Device::cpu()),
                   detail::gather_edges(data.y.to(Device::cpu()), batch.nodes.to(Device::cpu())));
}

/// The edges of the batch by global ids: target, source -> values.
inline std::map<std::pair<int32_t, int32_t>, double> edges_of(const Graph& graph, const Tensor& nodes,
                                                              const Tensor& value) {
  const EdgeIndex edges = graph.edge_index();
  const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  const auto name = nodes ? nodes.to_vector<int32_t>() : std::vector<int32_t>();
  const auto id = [&](int32_t i) { return nodes ? name[static_cast<size_t>(i)] : i; };
  const auto each = value ? values(value) : std::vector<double>(src.size(), 1.0);
  std::map<std::pair<int32_t, int32_t>, double> all;
  for (size_t e = 0; e < src.size(); ++e) all[{id(dst[e]), id(src[e])}] += each[e];
  return all;
}

/// Same for the full graph, restricted to the batch's nodes.
inline std::map<std::pair<int32_t, int32_t>, double> edges_among(const Graph& graph, const Tensor& nodes,
                                                                 const Tensor& value) {
  auto all = edges_of(graph, {}, value);
  auto in = nodes.to_vector<int32_t>();
  std::sort(in.begin(), in.end());
  std::erase_if(all, [&](const auto& edge) {
    return !std::binary_search(in.begin(), in.end(), edge.first.first) ||
           !std::binary_search(in.begin(), in.end(), edge.first.second);
  });
  return all;
}

/// Two layers of one kind over a graph, without dropout.
template <class Conv>
struct TwoLayers : nn::Module {
  nn::Child<Conv> conv1, conv2;
  TwoLayers(int64_t in, int64_t out) : conv1(this, "conv1", in, 8), conv2(this, "conv2", 8, out) {}
  Var operator()(const Graph& graph, const Features& x) { return conv2(graph, relu(conv1(graph, x))); }
};

}  // namespace adj::test
