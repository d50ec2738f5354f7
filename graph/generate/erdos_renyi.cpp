#include <adjoint/graph/detail/draws.h>

namespace adj {

using namespace detail;

namespace {

/// All pairs except those of `left_out`, which must ascend.
EdgeList all_but(int64_t nodes, bool both_ways, int64_t edges, const std::vector<uint64_t>& left_out) {
  EdgeList graph = empty_list(nodes, edges);
  auto next = left_out.begin();
  size_t e = 0;
  for (int32_t target = 0; target < nodes; ++target)
    for (int32_t source = 0; source < (both_ways ? nodes : target); ++source) {
      if (source == target) continue;
      if (next != left_out.end() && *next == edge_key(source, target)) {
        ++next;
        continue;
      }
      graph.src[e] = source;
      graph.dst[e++] = target;
    }
  return graph;
}

}  // namespace

EdgeList erdos_renyi_graph(int64_t nodes, int64_t edges, uint64_t seed, bool undirected) {
  check_counts("erdos_renyi_graph", nodes, edges);
  const int64_t room = nodes * (nodes - 1);  // counting both directions
  ADJ_CHECK(edges <= room && !(undirected && edges % 2 != 0),
            "erdos_renyi_graph: expected {} edges, both directions counted, up to {} among {} nodes, got {}",
            undirected ? "an even number of" : "a number of", room, nodes, edges);
  const int64_t pairs = undirected ? room / 2 : room, wanted = undirected ? edges / 2 : edges;
  const auto draw = [=](int64_t i) {
    const PhiloxBlock words = philox(seed, kPairs, static_cast<uint64_t>(i));
    int32_t target = scaled(uniform(words, 0), nodes), source = scaled(uniform(words, 1), nodes - 1);
    if (source >= target) ++source;
    if (undirected && source > target) std::swap(source, target);
    return edge_key(source, target);
  };
  if (wanted > pairs / 2) {
    EdgeList graph = all_but(nodes, !undirected, wanted, distinct_edges(nodes, pairs - wanted, draw));
    return undirected ? symmetric(std::move(graph)) : graph;
  }
  return list_of(nodes, distinct_edges(nodes, wanted, draw), undirected);
}

}  // namespace adj
