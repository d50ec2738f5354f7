#include "edges.h"

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

std::vector<double> degrees(const std::vector<int32_t>& ends, int64_t nodes) {
  std::vector<double> count(uz(nodes), 0.0);
  for (int32_t i : ends) count.at(uz(i)) += 1.0;
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

/// The different ones, in order.
std::vector<Cell> pairs_of(const EdgeList& graph) {
  std::vector<Cell> cells = cells_of(graph.src, graph.dst);
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  return cells;
}

/// No parallel edges, no self-loops.
bool is_simple(const EdgeList& graph) {
  const std::vector<Cell> pairs = pairs_of(graph);
  return pairs.size() == graph.src.size() &&
         std::none_of(pairs.begin(), pairs.end(), [](const Cell& cell) { return cell.first == cell.second; });
}

bool is_symmetric(const EdgeList& graph) {
  return pairs_of(graph) == pairs_of({graph.nodes, graph.dst, graph.src});
}

bool same(const EdgeList& a, const EdgeList& b) { return a.src == b.src && a.dst == b.dst; }

const double kNan = std::nan("");

}  // namespace

TEST_CASE("the arxiv graph has its skew") {
  const EdgeList graph = named_graph("arxiv", 1);
  const std::vector<double> in = degrees(graph.dst, graph.nodes), out = degrees(graph.src, graph.nodes);
  CHECK(largest(in) == doctest::Approx(4515).epsilon(0.05));
  CHECK(skewness(in) == doctest::Approx(83).epsilon(0.1));
  CHECK(largest(out) < 40);
}

TEST_CASE("the roads graph is a subset of a grid, in row order") {
  const EdgeList graph = named_graph("roads", 1);
  CHECK(std::is_sorted(graph.dst.begin(), graph.dst.end()));
  int64_t off_grid = 0;
  for (size_t e = 0; e < graph.src.size(); ++e) {
    const int32_t step = std::abs(graph.src[e] - graph.dst[e]);
    const bool same_row = graph.src[e] / 378 == graph.dst[e] / 378;
    off_grid += !(step == 378 || (step == 1 && same_row));
  }
  CHECK(off_grid == 0);
  CHECK(pairs_of(graph).size() == graph.src.size());
  CHECK(largest(degrees(graph.dst, graph.nodes)) == 4);
  // Edges are removed evenly.
  const auto half = std::lower_bound(graph.dst.begin(), graph.dst.end(), graph.nodes / 2) - graph.dst.begin();
  CHECK(static_cast<double>(half) == doctest::Approx(279061 / 2.0).epsilon(0.01));
}

TEST_CASE("a community graph has its share of edges inside communities") {
  const EdgeList graph = community_graph(5000, 200000, 1024, 0.8, 3);
  double inside = 0.0;
  for (size_t e = 0; e < graph.src.size(); ++e) inside += graph.src[e] / 1024 == graph.dst[e] / 1024;
  // Some of the other, uniform edges are inside by chance.
  const double by_chance = (4 * 1024.0 * 1024.0 + 904.0 * 904.0) / (5000.0 * 5000.0);
  CHECK(inside / 200000 == doctest::Approx(0.8 + 0.2 * by_chance).epsilon(0.01));
  CHECK(largest(degrees(graph.dst, 5000)) < 100);
  CHECK(largest(degrees(graph.src, 5000)) < 100);
}

TEST_CASE("the tolokers graph is symmetric, small and dense") {
  const EdgeList graph = named_graph("tolokers", 1);
  CHECK(degrees(graph.src, graph.nodes) == degrees(graph.dst, graph.nodes));
  CHECK(largest(degrees(graph.dst, graph.nodes)) == doctest::Approx(2138).epsilon(0.1));
}

TEST_CASE("generated graphs equal those of another implementation of Philox") {
  // In Python, for seed 7.
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
  CHECK_THROWS_WITH_AS(named_graph("none", 1),
                       doctest::Contains("expected one of arxiv, roads, hm, tolokers"), UsageError);
}

TEST_CASE("R-MAT fills quadrants, and their quadrants, with its probabilities") {
  const double share[2][2] = {{0.57, 0.19}, {0.19, 0.05}};
  const RMat uneven{0.5, 0.3, 0.15, 0.05};
  for (int64_t nodes : {1024, 1000, 600}) {
    CAPTURE(nodes);
    const EdgeList graph = rmat_graph(nodes, 200000, {}, 3);
    CHECK(graph.src.size() == 200000);
    double half[2][2] = {}, quarter[2][2] = {};
    for (size_t e = 0; e < graph.src.size(); ++e) {
      const int64_t i = graph.src[e] * 4 / nodes, j = graph.dst[e] * 4 / nodes;
      REQUIRE((i >= 0 && i < 4 && j >= 0 && j < 4));
      half[i / 2][j / 2] += 1.0 / 200000;
      if (i < 2 && j < 2) quarter[i][j] += 1.0 / 200000;
    }
    for (int i : {0, 1})
      for (int j : {0, 1}) {
        CHECK(half[i][j] == doctest::Approx(share[i][j]).epsilon(0.03));
        CHECK(quarter[i][j] == doctest::Approx(0.57 * share[i][j]).epsilon(0.05));
      }
  }
  double above = 0.0, below = 0.0;
  const EdgeList graph = rmat_graph(512, 100000, uneven, 1);
  for (size_t e = 0; e < graph.src.size(); ++e) {
    above += graph.src[e] < 256 && graph.dst[e] >= 256;
    below += graph.src[e] >= 256 && graph.dst[e] < 256;
  }
  CHECK(above == doctest::Approx(30000).epsilon(0.03));
  CHECK(below == doctest::Approx(15000).epsilon(0.03));
  CHECK(largest(degrees(rmat_graph(1, 7, {}, 1).dst, 1)) == 7);
  CHECK(largest(degrees(rmat_graph(100, 50, {1.0, 0.0, 0.0, 0.0}, 1).dst, 100)) == 50);
  CHECK(rmat_graph(100, 50, {0.0, 0.0, 0.0, 1.0}, 1).src == std::vector<int32_t>(50, 99));
  CHECK_THROWS_AS(rmat_graph(10, 10, {0.5, 0.5, 0.5, 0.5}, 1), Error);
  CHECK_THROWS_AS(rmat_graph(10, 10, {1.5, -0.5, 0.0, 0.0}, 1), Error);
  CHECK_THROWS_AS(rmat_graph(10, 10, {kNan, 0.5, 0.3, 0.2}, 1), Error);
  CHECK_THROWS_AS(rmat_graph(10, -1, {}, 1), Error);
}

TEST_CASE("an Erdős-Rényi graph has exactly the given number of different edges") {
  for (const auto& [nodes, edges] :
       {std::pair{1000, 5000}, {100, 4000}, {100, 6000}, {50, 2450}, {2, 2}, {1, 0}})
    for (bool undirected : {false, true}) {
      CAPTURES(nodes, undirected);
      const EdgeList graph = erdos_renyi_graph(nodes, edges, 5, undirected);
      CHECK(graph.nodes == nodes);
      CHECK(graph.src.size() == uz(edges));
      CHECK(is_simple(graph));
      if (undirected) CHECK(is_symmetric(graph));
    }
  const auto in = degrees(erdos_renyi_graph(1000, 100000, 1).dst, 1000);
  CHECK(*std::min_element(in.begin(), in.end()) > 50);
  CHECK(largest(in) < 150);
  CHECK_THROWS_AS(erdos_renyi_graph(10, 91, 1), Error);
  CHECK_THROWS_AS(erdos_renyi_graph(10, 7, 1, true), Error);
  CHECK_THROWS_AS(erdos_renyi_graph(10, -1, 1), Error);
}

TEST_CASE("a planted partition has its blocks and its homophily") {
  for (const auto& [nodes, blocks, degree, homophily] : {std::tuple{3000, 5, 12.0, 0.8},
                                                         {1001, 7, 4.0, 0.1},
                                                         {500, 1, 6.0, 1.0},
                                                         {100, 60, 0.2, 1.0},
                                                         {400, 400, 2.0, 0.0}}) {
    CAPTURE(nodes);
    const PlantedPartition drawn = planted_partition(nodes, blocks, degree, homophily, 9);
    CHECK(static_cast<double>(drawn.edges.src.size()) == doctest::Approx(nodes * degree).epsilon(0.001));
    CHECK(is_simple(drawn.edges));
    CHECK(is_symmetric(drawn.edges));
    std::vector<int64_t> size(uz(blocks), 0);
    for (int32_t b : drawn.block) ++size.at(uz(b));
    for (int64_t n : size) CHECK((n == nodes / blocks || n == nodes / blocks + 1));
    double matches = 0.0;
    for (size_t e = 0; e < drawn.edges.src.size(); ++e)
      matches += drawn.block[uz(drawn.edges.src[e])] == drawn.block[uz(drawn.edges.dst[e])];
    CHECK(matches / static_cast<double>(drawn.edges.src.size()) == doctest::Approx(homophily).epsilon(0.005));
  }
  for (const auto& [blocks, degree, homophily] : {std::tuple{0, 2.0, 0.5},
                                                  {101, 2.0, 0.5},
                                                  {2, 2.0, kNan},
                                                  {2, kNan, 0.5},
                                                  {2, 80.0, 1.0},
                                                  {1, 2.0, 0.5}})  // no pairs between blocks
    CHECK_THROWS_AS(planted_partition(100, blocks, degree, homophily, 1), Error);
}

TEST_CASE("generated graphs depend on the seed, not on threads") {
  const auto check = [](auto draw) {
    const EdgeList first = draw(7);
    const Threads scope(1);
    CHECK(same(draw(7), first));
    CHECK(!same(draw(8), first));
    const Threads more(5);
    CHECK(same(draw(7), first));
  };
  check([](uint64_t seed) { return power_law_graph(1000, 50000, {}, seed); });
  check([](uint64_t seed) { return community_graph(100, 50000, 7, 0.5, seed); });
  check([](uint64_t seed) { return rmat_graph(5000, 100000, {}, seed); });
  check([](uint64_t seed) { return erdos_renyi_graph(5000, 300000, seed); });
  check([](uint64_t seed) { return erdos_renyi_graph(500, 150000, seed); });
  check([](uint64_t seed) { return planted_partition(5000, 7, 60.0, 0.7, seed).edges; });
}

TEST_CASE("edges of a star point to its centre, or from it") {
  const EdgeList in = star_graph(3, false), out = star_graph(3, true);
  CHECK(in.nodes == 4);
  CHECK(in.src == std::vector<int32_t>{1, 2, 3});
  CHECK(in.dst == std::vector<int32_t>{0, 0, 0});
  CHECK((out.src == in.dst && out.dst == in.src));
  CHECK_THROWS_AS(star_graph(0, true), Error);
  CHECK_THROWS_AS(star_graph(2147483647, true), Error);
}

TEST_CASE("named graphs have the counts of the real graphs") {
  const struct {
    const char* name;
    int64_t nodes, edges;
  } wanted[] = {{"hm-categories", 46563, 21461990}, {"tolokers-2", 11758, 1038000},
                {"avazu-ctr", 76269, 21968154},     {"cora", 2708, 10556},
                {"citeseer", 3327, 9104},           {"twitch-views", 168114, 13595114},
                {"pubmed", 19717, 88648},           {"artnet-exp", 50405, 560696},
                {"city-reviews", 148801, 2330830},  {"city-roads-M", 57073, 132570},
                {"ogbn-arxiv", 169343, 1166243},    {"ogbn-products", 2449029, 123718280},
                {"city-roads-L", 142257, 279061},   {"pokec-regions", 1632803, 30622564},
                {"arxiv", 169343, 1166243},         {"roads", 142257, 279061},
                {"tolokers", 11758, 1038000},       {"web-traffic", 2890331, 12895369}};
  CHECK(named_graphs().size() == std::size(wanted) + 1);
  for (const auto& w : wanted) {
    CAPTURE(std::string(w.name));
    const auto found = std::find_if(named_graphs().begin(), named_graphs().end(),
                                    [&](const NamedGraph& g) { return g.name == w.name; });
    REQUIRE(found != named_graphs().end());
    CHECK(found->nodes == w.nodes);
    CHECK(found->edges == w.edges);
    const bool symmetric = found->shape == NamedGraph::Shape::symmetric_power_law;
    CHECK(!(symmetric && found->edges % 2 != 0));
    if (w.edges > (kSanitized ? 300'000 : 3'000'000)) continue;
    const EdgeList graph = named_graph(w.name, 1);
    CHECK(graph.nodes == w.nodes);
    CHECK(std::ssize(graph.src) == w.edges);
    CHECK(is_symmetric(graph) == symmetric);
    (void)degrees(graph.src, graph.nodes);
    (void)degrees(graph.dst, graph.nodes);
  }
  CHECK(same(named_graph("ogbn-arxiv", 1), named_graph("arxiv", 1)));
  for (const auto& [name, degree] : {std::pair{"cora", 168}, {"citeseer", 99}, {"pubmed", 171}}) {
    const EdgeList graph = named_graph(name, 1);
    CHECK(largest(degrees(graph.dst, graph.nodes)) == doctest::Approx(degree).epsilon(0.2));
  }
}

TEST_CASE("motifs are attached to a base graph by one edge each") {
  const auto check = [](const MotifGraph& graph, int64_t base, int64_t motifs, int64_t size, int64_t inside) {
    CHECK(graph.edges.nodes == base + motifs * size);
    CHECK(is_simple(graph.edges));
    CHECK(is_symmetric(graph.edges));
    std::vector<int64_t> inner(uz(motifs)), outer(uz(motifs));
    for (const auto& [i, j] : pairs_of(graph.edges)) {
      const int32_t a = graph.motif[uz(i)], b = graph.motif[uz(j)];
      CHECK((a < 0 || b < 0 || a == b));
      if (a >= 0) ++(a == b ? inner : outer)[uz(a)];
      CHECK((graph.role[uz(i)] == 0) == (a < 0));
    }
    CHECK(inner == std::vector<int64_t>(uz(motifs), 2 * inside));
    CHECK(outer == std::vector<int64_t>(uz(motifs), 1));
  };
  const MotifGraph houses = house_graph(300, 5, 80, 1);
  check(houses, 300, 80, 5, 6);
  const std::vector<double> degree = degrees(houses.edges.dst, houses.edges.nodes);
  // Preferential attachment: the first nodes are hubs.
  CHECK(largest({degree.begin(), degree.begin() + 300}) > 40);
  const double house[] = {3, 3, 2, 2, 2};  // inside: two middle ones, two bottom ones, the top
  for (size_t m = 0; m < 80; ++m) {
    double more = 0;
    for (size_t k = 0; k < 5; ++k) more += degree[300 + 5 * m + k] - house[k];
    CHECK(more == 1.0);
  }
  CHECK(houses.role[304] == 3);
  CHECK(same(house_graph(300, 5, 80, 1).edges, houses.edges));
  CHECK_FALSE(same(house_graph(300, 5, 80, 2).edges, houses.edges));
  check(tree_cycle_graph(4, 10, 6, 1), 31, 10, 6, 6);
  CHECK_ERROR_HAS(house_graph(5, 5, 1, 1), "house_graph: expected more nodes than the degree");
  CHECK_ERROR_HAS(house_graph(9, 2, 10, 1), "house_graph: expected 0 to 9 motifs, got 10");
  CHECK_ERROR_HAS(tree_cycle_graph(0, 1, 6, 1), "tree_cycle_graph: expected a depth");
}
