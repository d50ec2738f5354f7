#include <adjoint/graph/aggregation.h>

#include <algorithm>
#include <atomic>

namespace adj {

namespace {

std::atomic<Aggregation> chosen{Aggregation::automatic};

/// Nanoseconds; docs/benchmarks.md says where they come from. What a scattered sum takes beyond a reduced
/// one, for each edge, is a line in the features: below its zero, where rows are so short that reading the
/// list straight is the cheaper part, it is taken as `least`.
struct Constants {
  double sort, sort_edge;  ///< a sort, and for each edge of it
  double sum;              ///< a scattered sum beyond a reduced one, and for each
  double edge, edge_feature, least;
  double node_feature;
};
constexpr Constants kCpu{5000.0, 10.0, 5000.0, -6.0, 0.2, 1.0, 0.0};
constexpr Constants kGpu{60000.0, 0.115, 4000.0, 0.0, 0.0012, 0.0, 0.004};

}  // namespace

void set_aggregation(Aggregation way) { chosen = way; }
Aggregation aggregation() { return chosen; }

AggregationCost aggregation_cost(int64_t nodes, int64_t edges, const ListUse& use, Device device) {
  if (use.sums == 0) return {};
  const Constants& c = device.is_cpu() ? kCpu : kGpu;
  const auto n = static_cast<double>(nodes), m = static_cast<double>(edges);
  const auto sums = static_cast<double>(use.sums), width = static_cast<double>(use.width);
  const double of_edge = std::max(c.edge + c.edge_feature * width, c.least);
  return {.sorting = (use.backward ? 2.0 : 1.0) * (c.sort + c.sort_edge * m),
          .scattering = sums * (c.sum + of_edge * m + c.node_feature * width * n)};
}

}  // namespace adj
