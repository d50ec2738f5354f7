#include <adjoint/graph/graph.h>

#include <algorithm>

// Done on the host, whatever the graph's device: these run once, before training.

namespace adj {

namespace {

/// The edges of a graph on the host, by target and then source.
struct Edges {
  explicit Edges(const Graph& graph)
      : nodes(graph.num_nodes()),
        offsets(graph.in_edges().offsets.to_vector<int64_t>()),
        src(graph.in_edges().indices.to_vector<int32_t>()) {
    if (graph.edge_weight()) weight = graph.edge_weight().to_vector<float>();
  }

  /// Calls f(target, source, entry) for every edge, in order.
  template <class F>
  void for_each(F&& f) const {
    for (int32_t i = 0; i < nodes; ++i)
      for (auto e = static_cast<size_t>(offsets[static_cast<size_t>(i)]);
           e < static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]); ++e)
        f(i, src[e], e);
  }

  int64_t nodes;
  std::vector<int64_t> offsets;
  std::vector<int32_t> src;
  std::vector<float> weight;  // empty: none
};

/// Collects the edges of a new graph.
class Builder {
 public:
  Builder(int64_t nodes, bool weighted) : nodes_(nodes), weighted_(weighted) {}

  void add(int32_t target, int32_t source, float weight) {
    dst_.push_back(target);
    src_.push_back(source);
    if (weighted_) weight_.push_back(weight);
  }
  Graph build(Device device) const {
    return Graph::from_coo(nodes_, Tensor::from(src_, device), Tensor::from(dst_, device),
                           weighted_ ? Tensor::from(weight_, device) : Tensor());
  }

 private:
  int64_t nodes_;
  bool weighted_;
  std::vector<int32_t> src_, dst_;
  std::vector<float> weight_;
};

float weight_of(const Edges& edges, size_t e) { return edges.weight.empty() ? 1.0f : edges.weight[e]; }

}  // namespace

Graph to_undirected(const Graph& graph) {
  const Edges edges(graph);
  const std::vector<int64_t> out_offsets = graph.out_edges().offsets.to_vector<int64_t>();
  const std::vector<int32_t> targets = graph.out_edges().indices.to_vector<int32_t>();
  const std::vector<int32_t> order = graph.pattern()->order().to_vector<int32_t>();
  Builder builder(edges.nodes, !edges.weight.empty());
  for (int32_t i = 0; i < edges.nodes; ++i) {
    const auto row = static_cast<size_t>(i);
    auto in = static_cast<size_t>(edges.offsets[row]), out = static_cast<size_t>(out_offsets[row]);
    const auto in_end = static_cast<size_t>(edges.offsets[row + 1]),
               out_end = static_cast<size_t>(out_offsets[row + 1]);
    while (in < in_end || out < out_end) {
      const int32_t j =
          out == out_end || (in < in_end && edges.src[in] < targets[out]) ? edges.src[in] : targets[out];
      // Both sums are made alike for (i, j) and (j, i), so the two weights agree to the bit.
      float in_sum = 0.0f, out_sum = 0.0f;
      int count = 0;
      for (; in < in_end && edges.src[in] == j; ++in, ++count) in_sum += weight_of(edges, in);
      for (; out < out_end && targets[out] == j; ++out, ++count)
        out_sum += weight_of(edges, static_cast<size_t>(order[out]));
      builder.add(i, j, (in_sum + out_sum) / static_cast<float>(count));
    }
  }
  return builder.build(graph.device());
}

Graph add_self_loops(const Graph& graph, float weight) {
  const Edges edges(graph);
  std::vector<bool> has(static_cast<size_t>(edges.nodes), false);
  // A loop of another weight than 1 makes an unweighted graph a weighted one.
  Builder builder(edges.nodes, !edges.weight.empty() || weight != 1.0f);
  edges.for_each([&](int32_t i, int32_t j, size_t e) {
    if (i == j) has[static_cast<size_t>(i)] = true;
    builder.add(i, j, weight_of(edges, e));
  });
  for (int32_t i = 0; i < edges.nodes; ++i)
    if (!has[static_cast<size_t>(i)]) builder.add(i, i, weight);
  return builder.build(graph.device());
}

Graph remove_self_loops(const Graph& graph) {
  const Edges edges(graph);
  Builder builder(edges.nodes, !edges.weight.empty());
  edges.for_each([&](int32_t i, int32_t j, size_t e) {
    if (i != j) builder.add(i, j, weight_of(edges, e));
  });
  return builder.build(graph.device());
}

Graph coalesce(const Graph& graph) {
  const Edges edges(graph);
  Builder builder(edges.nodes, !edges.weight.empty());
  for (int32_t i = 0; i < edges.nodes; ++i) {
    const auto end = static_cast<size_t>(edges.offsets[static_cast<size_t>(i) + 1]);
    for (auto e = static_cast<size_t>(edges.offsets[static_cast<size_t>(i)]); e < end;) {
      const int32_t j = edges.src[e];
      float sum = 0.0f;
      for (; e < end && edges.src[e] == j; ++e) sum += weight_of(edges, e);
      builder.add(i, j, sum);
    }
  }
  return builder.build(graph.device());
}

Graph induced_subgraph(const Graph& graph, const Tensor& nodes) {
  ADJ_CHECK(nodes.dims() == 1 && nodes.dtype() == DType::i32,
            "induced_subgraph: nodes are {}, expected [K] int32", nodes.str());
  const Edges edges(graph);
  const std::vector<int32_t> chosen = nodes.to_vector<int32_t>();
  std::vector<int32_t> number(static_cast<size_t>(edges.nodes), -1);
  for (size_t k = 0; k < chosen.size(); ++k) {
    ADJ_CHECK(chosen[k] >= 0 && chosen[k] < edges.nodes,
              "induced_subgraph: nodes[{}] is {}, expected 0 to {}", k, chosen[k], edges.nodes - 1);
    int32_t& slot = number[static_cast<size_t>(chosen[k])];
    ADJ_CHECK(slot < 0, "induced_subgraph: node {} stands at {} and at {}, expected once", chosen[k], slot,
              k);
    slot = static_cast<int32_t>(k);
  }
  Builder builder(nodes.numel(), !edges.weight.empty());
  edges.for_each([&](int32_t i, int32_t j, size_t e) {
    const int32_t target = number[static_cast<size_t>(i)], source = number[static_cast<size_t>(j)];
    if (target >= 0 && source >= 0) builder.add(target, source, weight_of(edges, e));
  });
  return builder.build(graph.device());
}

}  // namespace adj
