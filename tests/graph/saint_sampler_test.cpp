#include "edges.h"
#include <adjoint/graph/sample/saint_sampler.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

constexpr SaintMethod kMethods[] = {SaintMethod::node, SaintMethod::edge, SaintMethod::walk};

/// Skewed, directed, some nodes without edges in or out.
Graph skewed_graph() {
  const EdgeList list = power_law_graph(60, 240, {.exponent = 1.0, .shift = 1.0, .skewed_sources = true}, 3);
  return graph_of(63, list.src, list.dst);
}

/// The expected number of times that one draw takes each node.
std::vector<double> expected(const Graph& graph, SaintMethod method) {
  const auto nodes = uz(graph.num_nodes());
  const auto in = values(graph.in_degrees()), out = values(graph.out_degrees());
  std::vector<double> p(nodes);
  if (method == SaintMethod::node)
    for (size_t i = 0; i < nodes; ++i) p[i] = out[i] / static_cast<double>(graph.num_edges());
  if (method == SaintMethod::walk)
    for (double& each : p) each = 1.0 / static_cast<double>(nodes);
  if (method == SaintMethod::edge) {
    double sum = 0.0;
    for (const auto& [src, dst] : cells_of(graph.edge_index())) {
      const auto u = uz(src), v = uz(dst);
      const double weight = 1.0 / out[u] + 1.0 / in[v];
      sum += weight;
      p[u] += weight;
      if (u != v) p[v] += weight;
    }
    for (double& each : p) each /= sum;
  }
  return p;
}

}  // namespace

TEST_CASE("nodes are drawn with GraphSAINT's probabilities") {
  const Graph graph = skewed_graph();
  for (const SaintMethod method : kMethods) {
    CAPTURE(static_cast<int>(method));
    constexpr int64_t kSamples = 20'000;
    const SaintSampler sampler(graph, {.method = method, .budget = 1, .walk_length = 0});
    std::vector<double> seen(63);
    for (int64_t s = 0; s < kSamples; ++s)
      for (int32_t i : sampler.sample_nodes(static_cast<uint64_t>(s)).to_vector<int32_t>()) ++seen[uz(i)];
    check_counts(seen, expected(graph, method), kSamples);
  }
}

TEST_CASE("walks follow in-edges, and stay at a node that has none") {
  // 3 -> 2 -> 1 -> 0
  const Graph chain = graph_of(4, {3, 2, 1}, {2, 1, 0});
  const SaintSampler sampler(chain, {.budget = 1, .walk_length = 2});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto nodes = sampler.sample_nodes(seed).to_vector<int32_t>();
    const int32_t root = nodes.front();
    std::vector<int32_t> walked;
    for (int32_t i = root; i <= std::min(root + 2, 3); ++i) walked.push_back(i);
    CHECK(nodes == walked);
  }
}

TEST_CASE("a sample depends only on the seed") {
  const Graph graph = skewed_graph();
  for (const SaintMethod method : kMethods) {
    const SaintSampler sampler(graph, {.method = method, .budget = 5000, .walk_length = 3});
    const Tensor nodes = sampler.sample_nodes(7);
    const Threads threads(4);
    CHECK(same_bits(sampler.sample_nodes(7), nodes));
    const SaintSampler few(graph, {.method = method, .budget = 10});
    CHECK_FALSE(same_bits(few.sample_nodes(7), few.sample_nodes(8)));
    const Subgraph part = few.sample(7);
    CHECK(same_bits(part.edges, induced_subgraph(graph, part.nodes).edge_map));
  }
}

TEST_CASE("the normalization makes losses and sums of subgraphs unbiased") {
  const Graph graph = skewed_graph();
  const auto nodes = uz(graph.num_nodes());
  const SaintSampler sampler(graph, {.method = SaintMethod::walk, .budget = 8, .walk_length = 2});
  const SaintNormalization norm = sampler.normalization(2000);
  CHECK(same_bits(norm.node, sampler.normalization(2000).node));
  const auto by_node = norm.node.to_vector<float>(), by_edge = norm.edge.to_vector<float>();
  const auto dst = graph.edge_index().dst.to_vector<int32_t>();
  const std::vector<float> x = random_tensor({graph.num_edges()}).to_vector<float>();  // an edge's message
  std::vector<double> loss(nodes), sums(nodes), times(nodes), full(nodes);
  constexpr int kSamples = 20'000;
  for (int s = 0; s < kSamples; ++s) {
    const Subgraph part = sampler.sample(1'000'000 + static_cast<uint64_t>(s));
    for (int32_t i : part.nodes.to_vector<int32_t>()) {
      loss[uz(i)] += static_cast<double>(by_node[uz(i)]) / kSamples;
      ++times[uz(i)];
    }
    for (int32_t e : part.edges.to_vector<int32_t>()) {
      const auto edge = uz(e);
      sums[uz(dst[edge])] += static_cast<double>(by_edge[edge] * x[edge]);
    }
  }
  for (size_t e = 0; e < x.size(); ++e) full[uz(dst[e])] += static_cast<double>(x[e]);
  for (size_t i = 0; i < nodes; ++i) {
    CAPTURE(i);
    CHECK(loss[i] == doctest::Approx(1.0).epsilon(0.08));  // every node counts once
    CHECK(std::abs(sums[i] / times[i] - full[i]) < 0.08 * (1.0 + std::abs(full[i])));
  }
}

TEST_CASE("graphs without edges or nodes and options out of range are refused") {
  const Graph graph = skewed_graph();
  CHECK_THROWS_AS(SaintSampler(graph, {.budget = 0}), Error);
  CHECK_THROWS_AS(SaintSampler(graph, {.walk_length = -1}), Error);
  const Graph bare = graph_of(5, {}, {});
  CHECK_THROWS_AS(SaintSampler(bare, {.method = SaintMethod::node}), Error);
  CHECK_THROWS_AS(SaintSampler(bare, {.method = SaintMethod::edge}), Error);
  CHECK(SaintSampler(bare, {.budget = 100}).sample(1).graph.num_nodes() > 0);
  CHECK_THROWS_AS(SaintSampler(graph_of(0, {}, {}), {}), Error);
  CHECK_THROWS_AS(SaintSampler(graph, {}).normalization(0), Error);
  // Products exceed 64 bits, or the memory of any machine.
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_AS(SaintSampler(graph, {}).normalization(kHuge), Error);
  for (const SaintMethod method : kMethods)
    CHECK_THROWS_AS(SaintSampler(graph, {.method = method, .budget = kHuge}), Error);
  CHECK_THROWS_AS(SaintSampler(graph, {.budget = 1, .walk_length = kHuge}), Error);
  CHECK_ERROR(SaintSampler(graph, {.budget = int64_t{1} << 30, .walk_length = 1}),
              "SaintSampler: a budget of 1073741824 and walks of 1 steps, expected 1 to 100000000 and "
              "0 to 99999999");
  CHECK_ERROR(SaintSampler(graph, {.budget = 50'000'001, .walk_length = 1}),
              "SaintSampler: a budget of 50000001 and 2 nodes per draw, expected at most 100000000 nodes per "
              "subgraph");
  CHECK_THROWS_AS(SaintSampler(graph, {.budget = 1, .walk_length = 100'000'000}), Error);
}
