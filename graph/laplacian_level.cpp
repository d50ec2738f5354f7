#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/laplacian_level.h>
#include <adjoint/graph/detail/neighborhoods.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace adj::detail {

namespace {

constexpr int64_t kLevelGrain = 1 << 10;
constexpr double kMostEntries = 0.85;
constexpr int64_t kAhead = 12;  // neighbours whose rows are fetched ahead

using Row = std::array<double, kColumns>;

/// store(i, row i of A x) for each node i.
template <bool kWeighted, class Store>
void for_rows(const LaplacianLevel& level, const double* x, Store&& store) {
  const int32_t* neighbors = level.neighbors.data();
  const int64_t last = level.entries() - 1;
  adj::parallel_for(level.nodes(), kLevelGrain, [&](int64_t begin, int64_t end) {
    int64_t e = level.offsets[static_cast<size_t>(begin)];
    for (int64_t i = begin; i < end; ++i) {
      Row sum{};
      for (const int64_t stop = level.offsets[static_cast<size_t>(i) + 1]; e < stop; ++e) {
        __builtin_prefetch(x + neighbors[std::min(e + kAhead, last)] * kColumns);
        const double* other = x + neighbors[e] * kColumns;
        const double w = kWeighted ? static_cast<double>(level.weights[static_cast<size_t>(e)]) : 1.0;
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += kWeighted ? w * other[k] : other[k];
      }
      store(i, sum);
    }
  });
}

/// f(index of a number, degree of its node, its number in A x).
template <class F>
void for_entries(const LaplacianLevel& level, const double* x, F&& f) {
  const auto store = [&](int64_t i, const Row& sum) {
    const double degree = level.degree[static_cast<size_t>(i)];
    for (int64_t k = 0; k < kColumns; ++k) f(i * kColumns + k, degree, sum[static_cast<size_t>(k)]);
  };
  if (level.weights.empty())
    for_rows<false>(level, x, store);
  else
    for_rows<true>(level, x, store);
}

}  // namespace

void multiply(const LaplacianLevel& level, const double* x, double* y) {
  for_entries(level, x, [=](int64_t i, double degree, double sum) { y[i] = degree * x[i] - sum; });
}

void subtract_product(const LaplacianLevel& level, const double* r, const double* x, double* y) {
  for_entries(level, x, [=](int64_t i, double degree, double sum) { y[i] = r[i] - (degree * x[i] - sum); });
}

void advance(const LaplacianLevel& level, double along, double across, double before, const double* x,
             double* y) {
  if (before == 0.0)
    for_entries(level, x,
                [=](int64_t i, double degree, double sum) { y[i] = along * x[i] + across * sum / degree; });
  else
    for_entries(level, x, [=](int64_t i, double degree, double sum) {
      y[i] = along * x[i] + across * sum / degree + before * y[i];
    });
}

void relax(const LaplacianLevel& level, double weight, const double* r, const double* x, double* y) {
  for_entries(level, x, [=](int64_t i, double degree, double sum) {
    y[i] = x[i] + weight * ((r[i] + sum) / degree - x[i]);
  });
}

Aggregates::Aggregates(std::vector<int32_t> numbers)
    : of_node(std::move(numbers)), members(nodes_by({of_node.begin(), of_node.end()})) {
  offsets.assign(static_cast<size_t>(of_node[static_cast<size_t>(members.back())]) + 2, 0);
  for (const int32_t a : of_node) ++offsets[static_cast<size_t>(a) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
}

namespace {

/// The aggregate of each node: pairs, nodes of few edges first.
std::vector<int32_t> match_nodes(const LaplacianLevel& level) {
  const auto n = static_cast<size_t>(level.nodes());
  std::vector<int64_t> edges(n);
  for (size_t i = 0; i < n; ++i) edges[i] = level.offsets[i + 1] - level.offsets[i];
  std::vector<int32_t> aggregate(n, -1);
  int32_t aggregates = 0;
  for (const int32_t i : nodes_by(edges)) {
    const auto node = static_cast<size_t>(i);
    if (aggregate[node] >= 0) continue;
    float free_weight = 0.0f, taken_weight = 0.0f;
    int32_t partner = -1, host = -1;
    for (int64_t e = level.offsets[node]; e < level.offsets[node + 1]; ++e) {
      const int32_t j = level.neighbors[static_cast<size_t>(e)];
      const bool is_free = aggregate[static_cast<size_t>(j)] < 0;
      float& most = is_free ? free_weight : taken_weight;
      if (level.weight(e) > most) most = level.weight(e), (is_free ? partner : host) = j;
    }
    if (partner < 0 && host >= 0) {
      aggregate[node] = aggregate[static_cast<size_t>(host)];
      continue;
    }
    if (partner >= 0) aggregate[static_cast<size_t>(partner)] = aggregates;
    aggregate[node] = aggregates++;
  }
  return aggregate;
}

/// The graph of the aggregates.
LaplacianLevel contract(const LaplacianLevel& level, const Aggregates& aggregates) {
  LaplacianLevel coarse;
  coarse.offsets.push_back(0);
  std::vector<int64_t> place(static_cast<size_t>(aggregates.size()),
                             -1);  // of an aggregate among the entries
  for (size_t a = 0; a < place.size(); ++a) {
    const auto begin = std::ssize(coarse.neighbors);
    for (int64_t m = aggregates.offsets[a]; m < aggregates.offsets[a + 1]; ++m) {
      const auto i = static_cast<size_t>(aggregates.members[static_cast<size_t>(m)]);
      for (int64_t e = level.offsets[i]; e < level.offsets[i + 1]; ++e) {
        const auto neighbor = static_cast<size_t>(level.neighbors[static_cast<size_t>(e)]);
        const int32_t other = aggregates.of_node[neighbor];
        if (other == static_cast<int32_t>(a)) continue;
        int64_t& entry = place[static_cast<size_t>(other)];
        if (entry < begin) {  // not yet in this row
          entry = std::ssize(coarse.neighbors);
          coarse.neighbors.push_back(other);
          coarse.weights.push_back(0.0f);
        }
        coarse.weights[static_cast<size_t>(entry)] += level.weight(e);
      }
    }
    coarse.offsets.push_back(std::ssize(coarse.neighbors));
    coarse.degree.push_back(std::accumulate(coarse.weights.begin() + begin, coarse.weights.end(), 0.0));
  }
  return coarse;
}

}  // namespace

std::optional<Aggregates> coarsen(const LaplacianLevel& level, LaplacianLevel& coarse) {
  const Aggregates pairs(match_nodes(level));
  const LaplacianLevel half = contract(level, pairs);
  if (static_cast<double>(half.entries()) > kMostEntries * static_cast<double>(level.entries())) return {};
  const Aggregates again(match_nodes(half));
  std::vector<int32_t> both = pairs.of_node;
  for (int32_t& aggregate : both) aggregate = again.of_node[static_cast<size_t>(aggregate)];
  coarse = contract(half, again);
  return Aggregates(std::move(both));
}

}  // namespace adj::detail
