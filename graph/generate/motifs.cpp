#include <adjoint/graph/detail/draws.h>

#include <span>
#include <utility>

namespace adj {

using namespace detail;

namespace {

constexpr uint64_t kMotifs = 0x6d6f74696673;  // generator key of the nodes that motifs are attached to

/// Both directions of the distinct edges without loops, by target, then source.
void append_pairs(EdgeList& list, std::vector<std::pair<int32_t, int32_t>> pairs) {
  std::erase_if(pairs, [](const auto& pair) { return pair.first == pair.second; });
  const size_t count = pairs.size();
  for (size_t k = 0; k < count; ++k) pairs.emplace_back(pairs[k].second, pairs[k].first);
  std::ranges::sort(pairs);
  pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
  for (const auto& [dst, src] : pairs) {
    list.src.push_back(src);
    list.dst.push_back(dst);
  }
}

/// Attaches `count` copies of a motif, its edges and the roles of its nodes, to distinct nodes of the base.
MotifGraph attached(const char* name, int64_t base, std::vector<std::pair<int32_t, int32_t>> pairs,
                    std::span<const std::pair<int32_t, int32_t>> motif, std::span<const int32_t> roles,
                    int64_t count, uint64_t seed) {
  const auto size = std::ssize(roles);
  ADJ_CHECK(count >= 0 && count <= base, "{}: expected 0 to {} motifs, got {}", name, base, count);
  const int64_t nodes = base + count * size;
  check_counts(name, nodes, 2 * (std::ssize(pairs) + count * (std::ssize(motif) + 1)));
  Generator generator = Generator(seed).split(kMotifs);
  const Tensor order = random_permutation(base, generator);
  const auto join = random_integers({count}, 0, size, generator, DType::i32).to_vector<int32_t>();
  MotifGraph graph;
  graph.edges.nodes = nodes;
  graph.motif.assign(static_cast<size_t>(base), -1);
  graph.role.assign(static_cast<size_t>(base), 0);
  for (int64_t m = 0; m < count; ++m) {
    const auto first = static_cast<int32_t>(base + m * size);
    for (const auto& [a, b] : motif) pairs.emplace_back(first + a, first + b);
    pairs.emplace_back(order.data<int32_t>()[m], first + join[static_cast<size_t>(m)]);
    graph.motif.insert(graph.motif.end(), roles.size(), static_cast<int32_t>(m));
    graph.role.insert(graph.role.end(), roles.begin(), roles.end());
  }
  append_pairs(graph.edges, std::move(pairs));
  return graph;
}

}  // namespace

MotifGraph house_graph(int64_t nodes, int64_t degree, int64_t houses, uint64_t seed) {
  constexpr std::pair<int32_t, int32_t> kHouse[] = {{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 4}, {2, 3}};
  constexpr int32_t kRoles[] = {1, 1, 2, 2, 3};
  check_counts("house_graph", nodes, 0);
  ADJ_CHECK(
      degree >= 1 && degree < nodes && nodes <= kMostEdges / (2 * degree),
      "house_graph: expected more nodes than the degree, 1 or more, and fewer than 2^31 edges, got {} and {}",
      nodes, degree);
  // The first `degree` nodes are joined to a random permutation of themselves.
  Generator generator(seed);
  const Tensor first = random_permutation(degree, generator);
  std::vector<std::pair<int32_t, int32_t>> pairs;
  std::vector<int32_t> ends;  // of all edges so far, so that a uniform draw is in proportion to degrees
  const auto join = [&](int32_t a, int32_t b) {
    pairs.emplace_back(a, b);
    ends.push_back(a);
    ends.push_back(b);
  };
  for (int32_t i = 0; i < degree; ++i) join(i, first.data<int32_t>()[i]);
  int64_t position = 0;
  for (auto i = static_cast<int32_t>(degree); i < nodes; ++i) {
    std::vector<int32_t> drawn;
    for (int64_t k = 0; k < degree; ++k) {
      const int32_t end = scaled(uniform(seed, kTargets, position++), std::ssize(ends) + degree);
      drawn.push_back(end < std::ssize(ends) ? ends[static_cast<size_t>(end)] : i);  // a new edge's own end
    }
    for (const int32_t other : drawn) join(i, other);
  }
  return attached("house_graph", nodes, std::move(pairs), kHouse, kRoles, houses, seed);
}

MotifGraph tree_cycle_graph(int64_t depth, int64_t cycles, int64_t length, uint64_t seed) {
  ADJ_CHECK(depth >= 1 && depth <= 29 && length >= 3 && length <= kMostEdges,
            "tree_cycle_graph: expected a depth of 1 to 29 and cycles of 3 or more nodes, got {} and {}",
            depth, length);
  const auto nodes = (int32_t{1} << (depth + 1)) - 1;
  std::vector<std::pair<int32_t, int32_t>> pairs, cycle;
  for (int32_t i = 1; i < nodes; ++i) pairs.emplace_back((i - 1) / 2, i);
  for (int32_t k = 0; k < length; ++k) cycle.emplace_back(k, k + 1 < length ? k + 1 : 0);
  return attached("tree_cycle_graph", nodes, std::move(pairs), cycle,
                  std::vector<int32_t>(static_cast<size_t>(length), 1), cycles, seed);
}

}  // namespace adj
