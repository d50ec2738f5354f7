#include <adjoint/core/error.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/models/explain/neighborhood.h>

#include <algorithm>

namespace adj::models {

int32_t Neighborhood::place(int64_t node) const {
  const auto found = std::ranges::lower_bound(nodes, static_cast<int32_t>(node));
  ADJ_CHECK(found != nodes.end() && *found == node, "neighborhood: no node {} in it", node);
  return static_cast<int32_t>(found - nodes.begin());
}

std::optional<int32_t> Neighborhood::edge_between(int64_t src, int64_t dst) const {
  const Csr& in = graph.in_edges();
  const int64_t* rows = in.offsets.data<int64_t>() + place(dst);
  const int32_t* sources = in.indices.data<int32_t>();
  const int32_t* found = std::lower_bound(sources + rows[0], sources + rows[1], place(src));
  if (found == sources + rows[1] || *found != place(src)) return {};
  return static_cast<int32_t>(found - sources);  // numbers are those of the CSR
}

Neighborhood neighborhood_of(const Graph& whole, const std::vector<int32_t>& targets, int64_t hops) {
  ADJ_CHECK(!whole.device().is_cuda() && hops >= 1,
            "neighborhood: {} hops on {}, expected 1 or more, on the CPU", hops, whole.device().str());
  const Csr& in = whole.in_edges();
  const int64_t* rows = in.offsets.data<int64_t>();
  const int32_t* sources = in.indices.data<int32_t>();
  const auto entries = [&](int32_t i) { return std::pair(rows[i], rows[i + 1]); };

  Neighborhood result;
  std::vector<int32_t> distance(static_cast<size_t>(whole.num_nodes()), -1);
  std::vector<int32_t> frontier, next;
  const auto reach = [&](int32_t node, int64_t hop) {
    int32_t& known = distance.at(static_cast<size_t>(node));
    if (known >= 0) return;
    known = static_cast<int32_t>(hop);
    result.nodes.push_back(node);
    next.push_back(node);
  };
  for (const int32_t target : targets) reach(target, 0);
  for (int64_t hop = 1; hop <= hops + 1 && !next.empty(); ++hop) {
    frontier = std::exchange(next, {});
    for (const int32_t i : frontier)
      for (auto [k, end] = entries(i); k < end; ++k) reach(sources[k], hop);
  }
  std::ranges::sort(result.nodes);

  const auto count = std::ssize(result.nodes);
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> columns;
  const Tensor& order = whole.relation().csr_order();
  const int32_t* numbers = order ? order.data<int32_t>() : nullptr;
  for (const int32_t i : result.nodes) {
    const int32_t hop = distance[static_cast<size_t>(i)];
    if (hop <= hops)
      for (auto [k, end] = entries(i); k < end; ++k) {
        if (hop < hops) result.reaching.push_back(static_cast<int32_t>(columns.size()));
        columns.push_back(result.place(sources[k]));
        result.edges.push_back(numbers != nullptr ? numbers[k] : static_cast<int32_t>(k));
      }
    offsets.push_back(std::ssize(columns));
  }
  const Tensor edges = Tensor::from(result.edges);
  result.graph = Graph(Relation::from_csr({count, count, Tensor::from(offsets), Tensor::from(columns)}),
                       whole.edge_weight() ? adj::detail::gather_edges(whole.edge_weight(), edges) : Tensor(),
                       adj::detail::gather_attributes(whole.edge_attributes(), edges));
  return result;
}

}  // namespace adj::models
