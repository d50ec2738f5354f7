#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/draws.h>

#include <cmath>
#include <numeric>

namespace adj {

using namespace detail;

namespace {

/// Node of each rank: a random permutation.
std::vector<int32_t> deal_ranks(int64_t nodes, uint64_t seed) {
  std::vector<int32_t> node(static_cast<size_t>(nodes));
  std::iota(node.begin(), node.end(), 0);
  for (int64_t i = nodes - 1; i > 0; --i)
    std::swap(node[static_cast<size_t>(i)],
              node[static_cast<size_t>(scaled(uniform(seed, kRanks, i), i + 1))]);
  return node;
}

}  // namespace

EdgeList power_law_graph(int64_t nodes, int64_t edges, const PowerLaw& law, uint64_t seed) {
  check_counts("power_law_graph", nodes, edges);
  ADJ_CHECK(law.shift > 0.0 && std::isfinite(law.exponent),
            "power_law_graph: expected a positive shift and a finite exponent, got {} and {}", law.shift,
            law.exponent);
  const std::vector<int32_t> node = deal_ranks(nodes, seed);
  // Inverse distribution function of the law over real ranks; exponent 1 needs the logarithm.
  const double power = 1.0 - law.exponent, low = law.shift, high = law.shift + static_cast<double>(nodes);
  const auto rank = [=](double u) {
    const double point =
        std::abs(power) < 1e-9
            ? low * std::pow(high / low, u)
            : std::pow(std::pow(low, power) * (1.0 - u) + std::pow(high, power) * u, 1.0 / power);
    return std::clamp<int64_t>(static_cast<int64_t>(point - law.shift), 0, nodes - 1);
  };
  EdgeList graph = empty_list(nodes, edges);
  parallel_for(edges, kDrawGrain, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const double source = uniform(seed, kSources, e);
      graph.dst[static_cast<size_t>(e)] = node[static_cast<size_t>(rank(uniform(seed, kTargets, e)))];
      graph.src[static_cast<size_t>(e)] =
          law.skewed_sources ? node[static_cast<size_t>(rank(source))] : scaled(source, nodes);
    }
  });
  return graph;
}

EdgeList thinned_grid(int64_t nodes, int64_t width, int64_t edges, uint64_t seed) {
  check_counts("thinned_grid", nodes, edges);
  ADJ_CHECK(width >= 1, "thinned_grid: expected a positive width, got {}", width);
  // Calls f(source) for the neighbours of node i, ascending.
  const auto for_neighbours = [=](int64_t i, auto&& f) {
    if (i >= width) f(i - width);
    if (i % width != 0) f(i - 1);
    if (i % width != width - 1 && i + 1 < nodes) f(i + 1);
    if (i + width < nodes) f(i + width);
  };
  int64_t candidates = 0;
  for (int64_t i = 0; i < nodes; ++i) for_neighbours(i, [&](int64_t) { ++candidates; });
  ADJ_CHECK(edges <= candidates, "thinned_grid: {} nodes in rows of {} have {} edges, {} were requested",
            nodes, width, candidates, edges);
  // Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
  EdgeList graph;
  graph.nodes = nodes;
  graph.src.reserve(static_cast<size_t>(edges));
  graph.dst.reserve(static_cast<size_t>(edges));
  int64_t seen = 0, wanted = edges;
  for (int64_t i = 0; i < nodes; ++i)
    for_neighbours(i, [&](int64_t j) {
      const double left = static_cast<double>(candidates - seen);
      if (uniform(seed, kTargets, seen++) * left >= static_cast<double>(wanted)) return;
      --wanted;
      graph.src.push_back(static_cast<int32_t>(j));
      graph.dst.push_back(static_cast<int32_t>(i));
    });
  return graph;
}

EdgeList community_graph(int64_t nodes, int64_t edges, int64_t community, double inside, uint64_t seed) {
  check_counts("community_graph", nodes, edges);
  ADJ_CHECK(community >= 1 && inside >= 0.0 && inside <= 1.0,
            "community_graph: expected communities of 1 or more and a probability, got {} and {}", community,
            inside);
  EdgeList graph = empty_list(nodes, edges);
  parallel_for(edges, kDrawGrain, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const int32_t target = scaled(uniform(seed, kTargets, e), nodes);
      // One number decides whether the source is inside and, rescaled, which node it is.
      const double u = uniform(seed, kSources, e);
      const int64_t first = target / community * community;
      const int64_t members = std::min(community, nodes - first);
      graph.dst[static_cast<size_t>(e)] = target;
      graph.src[static_cast<size_t>(e)] = u < inside
                                              ? static_cast<int32_t>(first) + scaled(u / inside, members)
                                              : scaled((u - inside) / (1.0 - inside), nodes);
    }
  });
  return graph;
}

EdgeList symmetric(EdgeList graph) {
  const std::vector<int32_t> sources = graph.src;
  graph.src.insert(graph.src.end(), graph.dst.begin(), graph.dst.end());
  graph.dst.insert(graph.dst.end(), sources.begin(), sources.end());
  return graph;
}

EdgeList star_graph(int64_t leaves, bool outward) {
  ADJ_CHECK(leaves >= 1 && leaves < kMostEdges, "star_graph: expected 1 to 2^31 - 2 leaves, got {}", leaves);
  EdgeList graph = empty_list(leaves + 1, leaves);
  std::vector<int32_t>& ends = outward ? graph.dst : graph.src;
  std::iota(ends.begin(), ends.end(), 1);
  return graph;
}

}  // namespace adj
