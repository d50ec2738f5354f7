#include "../support.h"
#include <adjoint/graph/generators.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

std::vector<double> degrees(const std::vector<int32_t>& ends, int64_t nodes) {
  std::vector<double> count(static_cast<size_t>(nodes), 0.0);
  int64_t outside = 0;
  for (int32_t i : ends) {
    if (i < 0 || i >= nodes) {
      ++outside;
    } else {
      count[static_cast<size_t>(i)] += 1.0;
    }
  }
  CHECK(outside == 0);
  return count;
}

double skewness(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0.0, second = 0.0, third = 0.0;
  for (double v : x) mean += v / n;
  for (double v : x) {
    second += (v - mean) * (v - mean) / n;
    third += std::pow(v - mean, 3) / n;
  }
  return third / std::pow(second, 1.5);
}

double largest(const std::vector<double>& x) { return *std::max_element(x.begin(), x.end()); }

}  // namespace

TEST_CASE("the arxiv graph has its counts and its skew") {
  const EdgeList graph = named_graph("arxiv", 1);
  CHECK(graph.nodes == 169343);
  CHECK(graph.src.size() == 1166243);
  const std::vector<double> in = degrees(graph.dst, graph.nodes), out = degrees(graph.src, graph.nodes);
  CHECK(largest(in) == doctest::Approx(4515).epsilon(0.05));
  CHECK(skewness(in) == doctest::Approx(83).epsilon(0.1));
  CHECK(largest(out) < 40);
}

TEST_CASE("the roads graph is part of a grid, in the order of its rows") {
  const EdgeList graph = named_graph("roads", 1);
  CHECK(graph.nodes == 142257);
  CHECK(graph.src.size() == 279061);
  CHECK(std::is_sorted(graph.dst.begin(), graph.dst.end()));
  std::set<std::pair<int32_t, int32_t>> seen;
  int64_t off_grid = 0;
  for (size_t e = 0; e < graph.src.size(); ++e) {
    const int32_t step = std::abs(graph.src[e] - graph.dst[e]);
    const bool same_row = graph.src[e] / 378 == graph.dst[e] / 378;
    off_grid += !(step == 378 || (step == 1 && same_row));
    seen.insert({graph.dst[e], graph.src[e]});
  }
  CHECK(off_grid == 0);
  CHECK(seen.size() == graph.src.size());
  CHECK(largest(degrees(graph.dst, graph.nodes)) == 4);
  // Every part of the grid is thinned alike.
  const auto half = std::lower_bound(graph.dst.begin(), graph.dst.end(), graph.nodes / 2) - graph.dst.begin();
  CHECK(static_cast<double>(half) == doctest::Approx(279061 / 2.0).epsilon(0.01));
}

TEST_CASE("a community graph keeps its share of the edges inside") {
  const EdgeList graph = community_graph(5000, 200000, 1024, 0.8, 3);
  double inside = 0.0;
  for (size_t e = 0; e < graph.src.size(); ++e) inside += graph.src[e] / 1024 == graph.dst[e] / 1024;
  // The uniform rest falls inside now and then, too.
  const double by_chance = (4 * 1024.0 * 1024.0 + 904.0 * 904.0) / (5000.0 * 5000.0);
  CHECK(inside / 200000 == doctest::Approx(0.8 + 0.2 * by_chance).epsilon(0.01));
  CHECK(largest(degrees(graph.dst, 5000)) < 100);
  CHECK(largest(degrees(graph.src, 5000)) < 100);
}

TEST_CASE("the tolokers graph is symmetric, small and dense") {
  const EdgeList graph = named_graph("tolokers", 1);
  CHECK(graph.nodes == 11758);
  CHECK(graph.src.size() == 1038000);
  CHECK(degrees(graph.src, graph.nodes) == degrees(graph.dst, graph.nodes));
  CHECK(largest(degrees(graph.dst, graph.nodes)) == doctest::Approx(2138).epsilon(0.1));
}

TEST_CASE("generated graphs depend on the seed, not on threads") {
  const auto draw = [](uint64_t seed) { return power_law_graph(1000, 50000, {}, seed); };
  const EdgeList first = draw(7);
  const Threads scope(1);
  CHECK(draw(7).src == first.src);
  CHECK(draw(7).dst == first.dst);
  CHECK(draw(8).dst != first.dst);
  CHECK(community_graph(100, 50000, 7, 0.5, 1).src != community_graph(100, 50000, 7, 0.5, 2).src);
}

TEST_CASE("generated graphs are those that Philox's words make") {
  // By an implementation of its own in Python, for seed 7.
  using Ints = std::vector<int32_t>;
  const auto check = [](const EdgeList& graph, const Ints& src, const Ints& dst) {
    CHECK(graph.src == src);
    CHECK(graph.dst == dst);
  };
  check(power_law_graph(1000, 6, {}, 7), {171, 849, 661, 473, 664, 254}, {226, 671, 996, 4, 113, 596});
  check(power_law_graph(1000, 6, {.exponent = 2.48, .shift = 728.0, .skewed_sources = true}, 7),
        {724, 410, 839, 698, 477, 11}, {170, 793, 460, 397, 258, 867});
  check(power_law_graph(1000, 6, {.exponent = 1.0}, 7), {171, 849, 661, 473, 664, 254},
        {271, 635, 996, 460, 972, 144});
  check(community_graph(1000, 6, 30, 0.6, 7), {758, 624, 154, 263, 162, 342}, {750, 795, 8, 250, 989, 336});
  check(thinned_grid(12, 4, 8, 7), {0, 7, 4, 6, 9, 10, 11, 9}, {1, 3, 5, 5, 5, 6, 7, 10});
}

TEST_CASE("generators at their limits") {
  CHECK(power_law_graph(1, 5, {}, 1).dst == std::vector<int32_t>(5, 0));
  CHECK(power_law_graph(10, 0, {.exponent = 1.0}, 1).src.empty());
  CHECK(largest(degrees(power_law_graph(10, 1000, {.exponent = 1.0}, 1).dst, 10)) > 200);
  CHECK(thinned_grid(1, 1, 0, 1).src.empty());
  CHECK(thinned_grid(7, 3, 16, 1).src.size() == 16);  // all of them
  CHECK_THROWS_AS(thinned_grid(7, 3, 17, 1), Error);
  CHECK_THROWS_AS(power_law_graph(0, 0, {}, 1), Error);
  CHECK_THROWS_AS(community_graph(5, 5, 0, 0.5, 1), Error);
  CHECK_THROWS_WITH_AS(named_graph("cora", 1),
                       doctest::Contains("expected one of arxiv, roads, hm, tolokers"), UsageError);
}
