#include <adjoint/core/error.h>
#include <adjoint/graph/ranks/halo.h>
#include <adjoint/graph/ranks/rank_plan.h>
#include <adjoint/graph/ranks/row_cut.h>

#include <algorithm>

namespace adj {

std::vector<RankPlan> plan_ranks(const Graph& graph, const std::vector<int64_t>& ranks) {
  ADJ_CHECK(graph.device().is_cpu(), "plan_ranks: a graph on {}, expected the CPU", graph.device().str());
  const Csr& edges = graph.in_edges();
  const RowCut cut(edges.offsets);
  const int64_t* offsets = edges.offsets.data<int64_t>();
  const int32_t* sources = edges.indices.data<int32_t>();
  std::vector<RankPlan> plans;
  for (const int64_t count : ranks) {
    RankPlan plan{.ranks = count};
    std::vector<int64_t> fetched_by(static_cast<size_t>(graph.num_nodes()), -1);  // the last rank
    std::vector<int64_t> begins;
    for (int64_t rank = 0; rank < count; ++rank) begins.push_back(cut.rows_of(rank, count).first);
    for (int64_t rank = 0; rank < count; ++rank) {
      const auto [begin, end] = cut.rows_of(rank, count);
      std::vector<int64_t> needed(static_cast<size_t>(count), 0);  // rows of each rank
      for (int64_t e = offsets[begin]; e < offsets[end]; ++e) {
        int64_t& last = fetched_by[static_cast<size_t>(sources[e])];
        if ((sources[e] >= begin && sources[e] < end) || last == rank) continue;
        last = rank;
        ++needed[static_cast<size_t>(std::ranges::upper_bound(begins, sources[e]) - begins.begin()) - 1];
      }
      int64_t halo = 0;
      for (int64_t other = 0; other < count; ++other) {
        const auto [first, end_row] = cut.rows_of(other, count);
        const int64_t rows = end_row - first, some = needed[static_cast<size_t>(other)];
        if (other != rank) halo += Halo::takes_all(some, rows) ? rows : some;
      }
      plan.nodes = std::max(plan.nodes, end - begin);
      plan.edges = std::max(plan.edges, offsets[end] - offsets[begin]);
      plan.halo = std::max(plan.halo, halo);
    }
    if (graph.num_edges() > 0)
      plan.excess = static_cast<double>(plan.edges) * static_cast<double>(count) /
                        static_cast<double>(graph.num_edges()) -
                    1.0;
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace adj
