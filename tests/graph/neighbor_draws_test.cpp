// How often edges are sampled, counted over many batches.

#include "edges.h"
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <algorithm>
#include <cmath>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kBatches = 3000;

/// Edges 1 -> 0, 2 -> 0, …, of these weights: edge e is drawn for node 0.
Graph star_of(const std::vector<float>& weight, Device device) {
  return graph_of(star_graph(std::ssize(weight), false), device)
      .with_edge_weight(Tensor::from(weight, device));
}

/// The edges that node 0 takes in batch `seed`.
std::vector<int32_t> taken(const NeighborSampler& sampler, uint64_t seed) {
  return sampler.sample(ints({0}, sampler.graph().device()), seed).front().edge_ids().to_vector<int32_t>();
}

/// How often each edge is taken in kBatches batches.
std::vector<double> counts(const NeighborSampler& sampler) {
  std::vector<double> count(uz(sampler.graph().num_edges()));
  for (int64_t b = 0; b < kBatches; ++b)
    for (int32_t e : taken(sampler, static_cast<uint64_t>(b))) ++count[uz(e)];
  return count;
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
    check_counts(counts(sampler), std::vector<double>(20, 5.0 / 20.0), kBatches);
    std::vector<double> pairs(400), expected(400);
    for (int64_t b = 0; b < kBatches; ++b) {
      const auto edges = taken(sampler, static_cast<uint64_t>(b));
      for (int32_t a : edges)
        for (int32_t c : edges)
          if (a < c) ++pairs[uz(20 * a + c)];
    }
    for (size_t a = 0; a < 20; ++a)
      for (size_t c = a + 1; c < 20; ++c) expected[20 * a + c] = 5.0 * 4.0 / (20.0 * 19.0);
    check_counts(pairs, expected, kBatches);
  }
}

TEST_CASE("neighbor draws: repeated draws are independent, uniform or by weight") {
  for (Device device : devices()) {
    check_counts(counts({star_of(kEven, device), {.fanouts = {7}, .replace = true}}),
                 std::vector<double>(20, 7.0 / 20.0), kBatches);
    const NeighborSampler weighted(star_of(kUneven, device),
                                   {.fanouts = {3}, .replace = true, .weighted = true});
    std::vector<double> expected = shares(kUneven);
    for (double& p : expected) p *= 3.0;
    check_counts(counts(weighted), expected, kBatches);
    int64_t twice = 0;
    for (int64_t b = 0; b < kBatches; ++b) {
      const auto edges = taken(weighted, static_cast<uint64_t>(b));
      twice += edges[0] == edges[1];
    }
    double same = 0.0;
    for (double p : shares(kUneven)) same += p * p;
    check_counts({static_cast<double>(twice)}, {same}, kBatches);
  }
}

TEST_CASE("neighbor draws: distinct draws by weight have the probabilities of successive draws") {
  const std::vector<double> p = shares(kUneven);
  std::vector<double> of_two = p;
  for (size_t i = 0; i < p.size(); ++i)
    for (size_t j = 0; j < p.size(); ++j)
      if (i != j) of_two[i] += p[j] * p[i] / (1.0 - p[j]);
  for (Device device : devices()) {
    check_counts(counts({star_of(kUneven, device), {.fanouts = {1}, .weighted = true}}), p, kBatches);
    check_counts(counts({star_of(kUneven, device), {.fanouts = {2}, .weighted = true}}), of_two, kBatches);
  }
}

TEST_CASE("neighbor draws: LABOR takes edges equally often, and fewer distinct nodes") {
  for (Device device : devices()) {
    check_counts(counts({star_of(kEven, device), {.fanouts = {5}, .labor = true}}),
                 std::vector<double>(20, 5.0 / 20.0), kBatches);
    CHECK(taken({star_of(kEven, device), {.fanouts = {20}, .labor = true}}, 3).size() == 20);
    const Graph graph = graph_of(rmat_graph(2000, 60000, {}, 11), device);
    std::vector<int32_t> seeds;
    for (int32_t i = 0; i < 500; ++i) seeds.push_back(4 * i);
    const auto nodes_and_edges = [&](bool labor) {
      const NeighborSampler sampler(graph, {.fanouts = {5}, .labor = labor});
      int64_t nodes = 0, edges = 0;
      for (uint64_t b = 0; b < 20; ++b) {
        const Block block = sampler.sample(ints(seeds, device), b).front();
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

TEST_CASE("neighbor draws: a hub of a million neighbours, few or many drawn") {
  for (Device device : devices()) {
    const Graph graph = graph_of(star_graph(1'000'000, false), device);
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
