#include <adjoint/kernels/plan/aggregation_cost.h>

namespace adj::kernels {

namespace {

/// Nanoseconds; docs/benchmarks.md has their origin.
struct Constants {
  double sort, sort_edge;  ///< per sort, and per sorted edge
  /// Extra cost of a scattered sum: fixed, per edge, per edge feature, and per node feature.
  double sum, edge, edge_feature, node_feature;
};
constexpr Constants kCpu{5000.0, 10.0, 5000.0, 1.0, 0.3, 0.0};
constexpr Constants kGpu{62000.0, 0.057, 5000.0, 0.0, 0.0113, 0.0053};

}  // namespace

AggregationCost aggregation_cost(int64_t nodes, int64_t edges, const ListUse& use, Device device) {
  if (use.sums == 0) return {};
  const Constants& c = device.is_cpu() ? kCpu : kGpu;
  const auto n = static_cast<double>(nodes), m = static_cast<double>(edges);
  const auto sums = static_cast<double>(use.sums), width = static_cast<double>(use.width);
  const double of_edges = (c.edge + c.edge_feature * width) * m;
  return {.sorting = (use.backward ? 2.0 : 1.0) * (c.sort + c.sort_edge * m),
          .scattering = sums * (c.sum + of_edges + c.node_feature * width * n)};
}

}  // namespace adj::kernels
