#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/data/dataset.h>
#include <adjoint/models/node_features.h>

#include <algorithm>
#include <numeric>
#include <span>

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

/// Walks along out-edges.
class Walks {
 public:
  explicit Walks(const Graph& graph)
      : offsets_(graph.out_edges().offsets.to_vector<int64_t>()),
        heads_(graph.out_edges().indices.to_vector<int32_t>()) {}
  int64_t nodes() const { return std::ssize(offsets_) - 1; }

  /// Writes the chances of being back at `start` after 1, 2, … steps; returns how many edges were visited.
  double walk(int64_t start, std::span<float> back, Distribution& now, Distribution& next) const {
    double visited = 0.0;
    now.clear();
    now.add(static_cast<int32_t>(start), 1.0);
    for (float& chance : back) {
      next.clear();
      for (const int32_t node : now.visited) {
        const auto first = static_cast<size_t>(offsets_[static_cast<size_t>(node)]),
                   last = static_cast<size_t>(offsets_[static_cast<size_t>(node) + 1]);
        const double each = now.chance[static_cast<size_t>(node)] / static_cast<double>(last - first);
        for (size_t edge = first; edge < last; ++edge) next.add(heads_[edge], each);
        visited += static_cast<double>(last - first);
      }
      std::swap(now, next);
      chance = static_cast<float>(now.chance[static_cast<size_t>(start)]);
    }
    return visited;
  }

  /// Throws if walks from all nodes would visit so many edges that nobody waits for them, by those of a few.
  void require_feasible(int64_t steps) const {
    constexpr int64_t kStarts = 16;
    constexpr double kMost = 1e13;  // hours
    const int64_t starts = std::min(nodes(), kStarts);
    Distribution now(nodes()), next(nodes());
    std::vector<float> back(static_cast<size_t>(steps));
    double visited = 0.0;
    for (int64_t k = 0; k < starts; ++k) visited += walk(k * nodes() / starts, back, now, next);
    visited *= static_cast<double>(nodes()) / static_cast<double>(std::max<int64_t>(starts, 1));
    ADJ_CHECK(
        visited <= kMost,
        "random walks: {} steps from each of {} nodes visit about {:.0e} edges, expected {:.0e} at most: "
        "fewer steps, or eigenvectors of the Laplacian",
        steps, nodes(), visited, kMost);
  }

 private:
  std::vector<int64_t> offsets_;
  std::vector<int32_t> heads_;
};

Features return_probabilities(const Graph& graph, int64_t steps) {
  constexpr int64_t kStarts = 64;  // per thread and workspace
  const Walks walks(graph);
  walks.require_feasible(steps);
  std::vector<float> x(static_cast<size_t>(walks.nodes() * steps));
  parallel_for(walks.nodes(), kStarts, [&](int64_t begin, int64_t end) {
    Distribution now(walks.nodes()), next(walks.nodes());
    for (int64_t start = begin; start < end; ++start)
      (void)walks.walk(start,
                       std::span(x).subspan(static_cast<size_t>(start * steps), static_cast<size_t>(steps)),
                       now, next);
  });
  return Features(Tensor::from(x, {walks.nodes(), steps}));
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
