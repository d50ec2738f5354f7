#pragma once

#include "loader_batches.h"

#include <algorithm>
#include <map>

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

inline bool same(const std::vector<SubgraphBatch>& a, const std::vector<SubgraphBatch>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& p, const auto& q) {
    const auto equal = [](const Tensor& s, const Tensor& t) {
      return static_cast<bool>(s) == static_cast<bool>(t) && (!s || same_bits(s, t));
    };
    return same_bits(p.nodes, q.nodes) && same_bits(p.seeds, q.seeds) && equal(p.y, q.y) &&
           equal(p.weight, q.weight) && same_bits(p.x.to_dense(), q.x.to_dense()) &&
           same_bits(p.graph.in_edges().offsets, q.graph.in_edges().offsets) &&
           same_bits(p.graph.in_edges().indices, q.graph.in_edges().indices) &&
           equal(p.graph.edge_weight(), q.graph.edge_weight());
  });
}

inline std::vector<int32_t> nodes_of(const std::vector<SubgraphBatch>& all) {
  return numbers_of(all, &SubgraphBatch::nodes);
}

/// True if the batch's features, labels and seed flags match the dataset and `seeds`.
inline bool agrees(const SubgraphBatch& batch, const Dataset& data, const Tensor& seeds) {
  const auto nodes = batch.nodes.to_vector<int32_t>();
  const auto index = batch.nodes.to(Device::cpu());
  std::vector<int32_t> places;
  const auto given = seeds.to_vector<int32_t>();
  for (size_t k = 0; k < nodes.size(); ++k)
    if (std::find(given.begin(), given.end(), nodes[k]) != given.end())
      places.push_back(static_cast<int32_t>(k));
  const Dataset whole = data.to(Device::cpu());
  return std::is_sorted(nodes.begin(), nodes.end()) && batch.seeds.to_vector<int32_t>() == places &&
         batch.x.is_sparse() == data.x.is_sparse() && batch.graph.num_nodes() == batch.size() &&
         same_bits(batch.x.to_dense().to(Device::cpu()), whole.x.rows(index).to_dense()) &&
         same_bits(batch.y.to(Device::cpu()), detail::gather_edges(whole.y, index));
}

/// The edges of the batch by global ids: target, source -> values.
inline std::map<std::pair<int32_t, int32_t>, double> edges_of(const Graph& graph, const Tensor& nodes,
                                                              const Tensor& value) {
  const EdgeIndex edges = graph.edge_index();
  const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  const auto name = nodes ? nodes.to_vector<int32_t>() : std::vector<int32_t>();
  const auto of = [&](int32_t i) { return nodes ? name[static_cast<size_t>(i)] : i; };
  const auto each = value ? values(value) : std::vector<double>(src.size(), 1.0);
  std::map<std::pair<int32_t, int32_t>, double> all;
  for (size_t e = 0; e < src.size(); ++e) all[{of(dst[e]), of(src[e])}] += each[e];
  return all;
}

/// Same for the full graph, restricted to the batch's nodes.
inline std::map<std::pair<int32_t, int32_t>, double> edges_among(const Graph& graph, const Tensor& nodes,
                                                                 const Tensor& value) {
  auto all = edges_of(graph, {}, value);
  const auto in = nodes.to_vector<int32_t>();
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
