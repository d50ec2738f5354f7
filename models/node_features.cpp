#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/data/dataset.h>
#include <adjoint/models/node_features.h>

#include <algorithm>
#include <numeric>

namespace adj::models {

namespace {

/// A one in each row, at `columns`.
Features marked(const std::vector<int32_t>& columns, int64_t width) {
  std::vector<int64_t> rows(columns.size() + 1);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  const std::vector<float> ones(columns.size(), 1.0f);
  return SparseMatrix::from_csr(std::ssize(columns), width, rows, columns, ones);
}

/// Of all nodes, also for the edges of one rank's.
template <class T>
std::vector<T> in_degrees(const Graph& graph) {
  const auto offsets = graph.whole_offsets().to_vector<int64_t>();
  std::vector<T> degrees(offsets.size() - 1);
  for (size_t i = 0; i < degrees.size(); ++i) degrees[i] = static_cast<T>(offsets[i + 1] - offsets[i]);
  return degrees;
}

Features one_hot_degrees(const Graph& graph, int64_t width) {
  const std::vector<int32_t> degrees = in_degrees<int32_t>(graph);
  const int32_t most = degrees.empty() ? 0 : *std::max_element(degrees.begin(), degrees.end());
  ADJ_CHECK(width == 0 || most < width, "a node with {} in-edges, expected {} at most, as in the training",
            most, width - 1);
  return marked(degrees, width > 0 ? width : most + 1);
}

/// A walk's distribution over the nodes, of which most are 0.
struct Distribution {
  explicit Distribution(int64_t nodes) : chance(static_cast<size_t>(nodes), 0.0) {}
  void add(int32_t node, double more) {
    double& sum = chance[static_cast<size_t>(node)];
    if (sum == 0.0) visited.push_back(node);
    sum += more;
  }
  void clear() {
    for (const int32_t node : visited) chance[static_cast<size_t>(node)] = 0.0;
    visited.clear();
  }
  std::vector<double> chance;
  std::vector<int32_t> visited;
};

Features return_probabilities(const Graph& graph, int64_t steps) {
  constexpr int64_t kStarts = 64;  // per thread and workspace
  const int64_t nodes = graph.num_nodes();
  const auto offsets = graph.out_edges().offsets.to_vector<int64_t>();
  const auto heads = graph.out_edges().indices.to_vector<int32_t>();
  std::vector<float> x(static_cast<size_t>(nodes * steps));
  parallel_for(nodes, kStarts, [&](int64_t begin, int64_t end) {
    Distribution now(nodes), next(nodes);
    for (int64_t start = begin; start < end; ++start) {
      now.clear();
      now.add(static_cast<int32_t>(start), 1.0);
      for (int64_t step = 0; step < steps; ++step) {
        next.clear();
        for (const int32_t node : now.visited) {
          const auto first = static_cast<size_t>(offsets[static_cast<size_t>(node)]),
                     last = static_cast<size_t>(offsets[static_cast<size_t>(node) + 1]);
          const double each = now.chance[static_cast<size_t>(node)] / static_cast<double>(last - first);
          for (size_t edge = first; edge < last; ++edge) next.add(heads[edge], each);
        }
        std::swap(now, next);
        x[static_cast<size_t>(start * steps + step)] =
            static_cast<float>(now.chance[static_cast<size_t>(start)]);
      }
    }
  });
  return Features(Tensor::from(x, {nodes, steps}));
}

Features identity(int64_t nodes, int64_t learned) {
  ADJ_CHECK(learned == 0 || learned == nodes, "{} nodes, but features of {} were learned", nodes, learned);
  std::vector<int32_t> columns(static_cast<size_t>(nodes));
  std::iota(columns.begin(), columns.end(), 0);
  return marked(columns, nodes);
}

Features made_on_host(NodeFeatures kind, const Graph& graph, int64_t columns) {
  switch (kind) {
    case NodeFeatures::constant:
      return Features(Tensor::full({graph.num_nodes(), 1}, 1.0));
    case NodeFeatures::degree:
      if (columns > 1) return one_hot_degrees(graph, columns);
      return Features(Tensor::from(in_degrees<float>(graph), {graph.num_nodes(), 1}));
    case NodeFeatures::one_hot_degree:
      return one_hot_degrees(graph, columns);
    case NodeFeatures::random_walk:
      ADJ_CHECK(columns > 0, "node features: a random walk of {} steps, expected 1 or more", columns);
      return return_probabilities(graph, columns);
    case NodeFeatures::learned:
      return identity(graph.num_nodes(), columns);
    default:
      fail("node features: expected those of a graph, got '{}'", name_of(kind));
  }
}

}  // namespace

Features node_features(NodeFeatures kind, const Graph& graph, int64_t columns) {
  return made_on_host(kind, graph, columns).to(graph.device());
}

std::string fingerprint(const Graph& graph) {
  Dataset only;
  only.graph = graph;
  return adj::fingerprint(only);
}

}  // namespace adj::models
