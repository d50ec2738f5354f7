// Sampled neighbourhoods: how often edges are drawn, counted over many batches.

#include "../support.h"
#include <adjoint/graph/generate/generators.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kBatches = 3000;

/// Edges 1 -> 0, 2 -> 0, …, of these weights: edge e is drawn for node 0.
Graph star_of(const std::vector<float>& weight, Device device) {
  std::vector<int32_t> src, dst(weight.size(), 0);
  for (size_t e = 0; e < weight.size(); ++e) src.push_back(static_cast<int32_t>(e) + 1);
  return Graph::from_coo(std::ssize(weight) + 1, Tensor::from(src, device), Tensor::from(dst, device),
                         Tensor::from(weight, device));
}

/// The edges that node 0 takes in batch `seed`.
std::vector<int32_t> taken(const NeighborSampler& sampler, uint64_t seed) {
  const Tensor centre = Tensor::from(std::vector<int32_t>{0}, sampler.graph().device());
  return sampler.sample(centre, seed).front().edge_ids().to_vector<int32_t>();
}

/// How often each edge is taken in kBatches batches.
std::vector<double> counts(const NeighborSampler& sampler) {
  std::vector<double> count(static_cast<size_t>(sampler.graph().num_edges()));
  for (int64_t b = 0; b < kBatches; ++b)
    for (int32_t e : taken(sampler, static_cast<uint64_t>(b))) ++count[static_cast<size_t>(e)];
  return count;
}

/// Within five standard deviations of a binomial distribution (of a Poisson one, which is wider).
void check_counts(const std::vector<double>& count, const std::vector<double>& expected) {
  REQUIRE(count.size() == expected.size());
  for (size_t e = 0; e < count.size(); ++e) {
    CAPTURE(e);
    CHECK(std::abs(count[e] - expected[e] * kBatches) <= 5.0 * std::sqrt(expected[e] * kBatches) + 1e-9);
  }
}

std::vector<double> shares(const std::vector<float>& weight) {
  double sum = 0.0;
  for (float w : weight) sum += static_cast<double>(w);
  std::vector<double> p;
  for (float w : weight) p.push_back(static_cast<double>(w) / sum);
  return p;
}

const std::vector<float> kEven(20, 1.0f);
const std::vector<float> kUneven{0.5f, 1.0f, 0.0f, 2.0f, 4.0f, 0.25f, 3.0f};

}  // namespace

TEST_CASE("neighbor draws: every edge, and every pair of edges, is taken as often as any other") {
  for (Device device : devices()) {
    const NeighborSampler sampler(star_of(kEven, device), {.fanouts = {5}});
    check_counts(counts(sampler), std::vector<double>(20, 5.0 / 20.0));
    std::vector<double> pairs(400);
    for (int64_t b = 0; b < kBatches; ++b) {
      const auto edges = taken(sampler, static_cast<uint64_t>(b));
      for (int32_t a : edges)
        for (int32_t c : edges)
          if (a < c) ++pairs[static_cast<size_t>(20 * a + c)];
    }
    for (size_t a = 0; a < 20; ++a)
      for (size_t c = a + 1; c < 20; ++c) {
        const double mean = kBatches * 5.0 * 4.0 / (20.0 * 19.0);
        CHECK(std::abs(pairs[20 * a + c] - mean) < 5.0 * std::sqrt(mean));
      }
  }
}

TEST_CASE("neighbor draws: repeated draws are independent, by weight where asked for") {
  for (Device device : devices()) {
    check_counts(counts({star_of(kEven, device), {.fanouts = {7}, .replace = true}}),
                 std::vector<double>(20, 7.0 / 20.0));
    const NeighborSampler weighted(star_of(kUneven, device),
                                   {.fanouts = {3}, .replace = true, .weighted = true});
    std::vector<double> expected = shares(kUneven);
    for (double& p : expected) p *= 3.0;
    check_counts(counts(weighted), expected);
    int64_t twice = 0;
    for (int64_t b = 0; b < kBatches; ++b) {
      const auto edges = taken(weighted, static_cast<uint64_t>(b));
      twice += edges[0] == edges[1];
    }
    double same = 0.0;
    for (double p : shares(kUneven)) same += p * p;
    CHECK(std::abs(static_cast<double>(twice) - same * kBatches) < 5.0 * std::sqrt(same * kBatches));
  }
}

TEST_CASE("neighbor draws: distinct ones by weight are those of drawing one after the other") {
  const std::vector<double> p = shares(kUneven);
  std::vector<double> of_two = p;
  for (size_t i = 0; i < p.size(); ++i)
    for (size_t j = 0; j < p.size(); ++j)
      if (i != j) of_two[i] += p[j] * p[i] / (1.0 - p[j]);
  for (Device device : devices()) {
    check_counts(counts({star_of(kUneven, device), {.fanouts = {1}, .weighted = true}}), p);
    check_counts(counts({star_of(kUneven, device), {.fanouts = {2}, .weighted = true}}), of_two);
  }
}

TEST_CASE("neighbor draws: LABOR takes each edge as often, and fewer nodes in all") {
  for (Device device : devices()) {
    check_counts(counts({star_of(kEven, device), {.fanouts = {5}, .labor = true}}),
                 std::vector<double>(20, 5.0 / 20.0));
    CHECK(taken({star_of(kEven, device), {.fanouts = {20}, .labor = true}}, 3).size() == 20);
    const EdgeList list = rmat_graph(2000, 60000, {}, 11);
    const Graph graph =
        Graph::from_coo(list.nodes, Tensor::from(list.src, device), Tensor::from(list.dst, device));
    std::vector<int32_t> seeds;
    for (int32_t i = 0; i < 500; ++i) seeds.push_back(4 * i);
    const auto nodes_and_edges = [&](bool labor) {
      const NeighborSampler sampler(graph, {.fanouts = {5}, .labor = labor});
      int64_t nodes = 0, edges = 0;
      for (uint64_t b = 0; b < 20; ++b) {
        const Block block = sampler.sample(Tensor::from(seeds, device), b).front();
        nodes += block.num_src();
        edges += block.num_edges();
      }
      return std::pair(static_cast<double>(nodes), static_cast<double>(edges));
    };
    const auto [apart_nodes, apart_edges] = nodes_and_edges(false);
    const auto [labor_nodes, labor_edges] = nodes_and_edges(true);
    CHECK(labor_edges == doctest::Approx(apart_edges).epsilon(0.05));
    CHECK(labor_nodes < 0.95 * apart_nodes);
  }
}

TEST_CASE("neighbor draws: a hub of a million neighbours, with few and many of them taken") {
  for (Device device : devices()) {
    const EdgeList list = star_graph(1'000'000, false);
    const Graph graph =
        Graph::from_coo(list.nodes, Tensor::from(list.src, device), Tensor::from(list.dst, device));
    for (int64_t fanout : {1, 10, 1000, -1}) {
      CAPTURE(fanout);
      const int64_t expected = fanout < 0 ? 1'000'000 : fanout;
      std::vector<int32_t> edges = taken({graph, {.fanouts = {fanout}}}, 5);
      CHECK(std::ssize(edges) == expected);
      std::sort(edges.begin(), edges.end());
      CHECK(std::unique(edges.begin(), edges.end()) == edges.end());
      CHECK((edges.front() >= 0 && edges.back() < 1'000'000));
    }
    const auto labor = taken({graph, {.fanouts = {1000}, .labor = true}}, 5);
    CHECK(std::abs(std::ssize(labor) - 1000) < 160);  // five deviations
  }
}
