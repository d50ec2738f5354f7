// Sampled neighbourhoods: what a batch of blocks promises, whatever was drawn (neighbor_draws_test.cpp counts
// the draws).

#include "../captures.h"
#include "../support.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/stream.h>
#include <adjoint/graph/generate/generators.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

Graph graph_of(int64_t nodes, const std::vector<int32_t>& src, const std::vector<int32_t>& dst,
               const std::vector<float>& weight = {}) {
  return Graph::from_coo(nodes, Tensor::from(src), Tensor::from(dst),
                         weight.empty() ? Tensor() : Tensor::from(weight));
}

Graph skewed(int64_t nodes, int64_t edges, bool weighted = false) {
  const EdgeList list = rmat_graph(nodes, edges, {}, 5);
  std::vector<float> weight;
  if (weighted)
    for (size_t e = 0; e < list.src.size(); ++e) weight.push_back(static_cast<float>(e % 5) * 0.25f);
  return graph_of(list.nodes, list.src, list.dst, weight);
}

Tensor every(int64_t n, int64_t step = 1) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; i += step) ids.push_back(static_cast<int32_t>(i));
  return Tensor::from(ids);
}

/// A block's edges and nodes on the host, in global ids.
struct Read {
  std::vector<int32_t> nodes, edge;  // of sources; of edges
  std::vector<int32_t> src, dst;     // local
  explicit Read(const Block& block)
      : nodes(block.src_nodes().to_vector<int32_t>()), edge(block.edge_ids().to_vector<int32_t>()) {
    const EdgeIndex edges = block.relation().edge_index();
    src = edges.src.to_vector<int32_t>();
    dst = edges.dst.to_vector<int32_t>();
  }
};

/// All that holds of every batch.
void check_batch(const Graph& graph, const Tensor& seeds, const std::vector<Block>& blocks,
                 const NeighborSampling& options) {
  const auto from = graph.edge_index().src.to_vector<int32_t>(),
             to = graph.edge_index().dst.to_vector<int32_t>();
  std::vector<float> weight;
  if (options.weighted) weight = graph.edge_weight().to_vector<float>();
  std::vector<int64_t> choosable(static_cast<size_t>(graph.num_nodes()));
  for (size_t e = 0; e < to.size(); ++e)
    choosable[static_cast<size_t>(to[e])] += static_cast<int64_t>(weight.empty() || weight[e] > 0.0f);
  REQUIRE(blocks.size() == options.fanouts.size());
  auto targets = seeds.to(DType::i32).to_vector<int32_t>();
  for (size_t hop = 0; hop < blocks.size(); ++hop) {
    CAPTURE(hop);
    const Block& block = blocks[blocks.size() - 1 - hop];
    CHECK(block.device() == graph.device());
    const Read read(block);
    const auto num_dst = static_cast<size_t>(block.num_dst());
    REQUIRE(num_dst == targets.size());
    // The targets stand first, every source once, and the others in order of first appearance.
    REQUIRE(std::equal(targets.begin(), targets.end(), read.nodes.begin()));
    CHECK(std::set<int32_t>(read.nodes.begin(), read.nodes.end()).size() == read.nodes.size());
    auto next = static_cast<int32_t>(num_dst);
    bool first_named = true, of_graph = true, apart = true, positive = true;
    std::vector<int64_t> taken(num_dst);
    std::set<std::pair<int32_t, int32_t>> seen;
    for (size_t e = 0; e < read.src.size(); ++e) {
      first_named &= read.src[e] <= next;
      next = std::max(next, read.src[e] + 1);
      const auto id = static_cast<size_t>(read.edge[e]);
      of_graph &= from[id] == read.nodes[static_cast<size_t>(read.src[e])] &&
                  to[id] == read.nodes[static_cast<size_t>(read.dst[e])];
      apart &= seen.emplace(read.dst[e], read.edge[e]).second;
      positive &= weight.empty() || weight[id] > 0.0f;
      ++taken[static_cast<size_t>(read.dst[e])];
    }
    CHECK(first_named);
    CHECK(next == static_cast<int32_t>(read.nodes.size()));
    CHECK(of_graph);
    CHECK(positive);
    CHECK(std::is_sorted(read.dst.begin(), read.dst.end()));
    const int64_t fanout = options.fanouts[hop];
    if (!options.replace || fanout < 0) CHECK(apart);
    if (!options.labor)
      for (size_t i = 0; i < num_dst; ++i) {
        const int64_t degree = choosable[static_cast<size_t>(targets[i])];
        const int64_t expected = fanout < 0        ? degree
                                 : options.replace ? (degree > 0 ? fanout : 0)
                                                   : std::min(degree, fanout);
        if (taken[i] != expected) FAIL_CHECK("target " << i << " has " << taken[i] << ", not " << expected);
      }
    targets = read.nodes;
  }
}

bool same(const std::vector<Block>& a, const std::vector<Block>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    const Csr &one = a[k].relation().csr(), &other = b[k].relation().csr();
    const auto equal = [](const Tensor& x, const Tensor& y) {
      return x.shape() == y.shape() &&
             x.to(DType::i64).to_vector<int64_t>() == y.to(DType::i64).to_vector<int64_t>();
    };
    if (!equal(a[k].src_nodes(), b[k].src_nodes()) || !equal(a[k].edge_ids(), b[k].edge_ids()) ||
        !equal(one.indices, other.indices) || !equal(one.offsets, other.offsets))
      return false;
  }
  return true;
}

std::vector<NeighborSampling> ways() {
  return {{.fanouts = {5, 3}},
          {.fanouts = {4, -1, 2}},
          {.fanouts = {100, 40}},
          {.fanouts = {3, 4}, .replace = true},
          {.fanouts = {5, 40}, .weighted = true},
          {.fanouts = {-1, 2}, .weighted = true},
          {.fanouts = {6, 3}, .replace = true, .weighted = true},
          {.fanouts = {5, 3}, .labor = true}};
}

}  // namespace

TEST_CASE("neighbor sampler: blocks of any kind are of the graph, counted, in order, the same again") {
  const Graph host = skewed(400, 6000, true);
  for (Device device : devices()) {
    const Graph graph = host.to(device);
    for (const NeighborSampling& options : ways()) {
      CAPTURES(device.str(), options.fanouts[0]);
      const NeighborSampler sampler(graph, options);
      for (const Tensor& seeds : {every(400, 7), every(400)}) {
        const std::vector<Block> blocks = sampler.sample(seeds.to(device), 11);
        check_batch(graph, seeds, blocks, options);
        CHECK(same(blocks, sampler.sample(seeds.to(DType::i64).to(device), 11)));
        // To the bit what the host draws.
        CHECK(same(blocks, NeighborSampler(host, options).sample(seeds, 11)));
      }
      if (options.fanouts[0] < 100)
        CHECK_FALSE(same(sampler.sample(every(400), 11), sampler.sample(every(400), 12)));
    }
  }
}

TEST_CASE("neighbor sampler: the number of threads, and who else samples, changes nothing") {
  const Graph graph = skewed(3000, 60000, true);
  for (const NeighborSampling& options : ways()) {
    const NeighborSampler sampler(graph, options);
    std::vector<std::vector<Block>> expected;
    {
      const Threads one(1);
      for (uint64_t k = 0; k < 6; ++k) expected.push_back(sampler.sample(every(3000, 2), k));
    }
    const Threads four(4);
    for (uint64_t k = 0; k < 6; ++k) CHECK(same(sampler.sample(every(3000, 2), k), expected[k]));
    std::vector<std::thread> loaders;
    std::vector<int> right(6);
    for (uint64_t k = 0; k < 6; ++k)
      loaders.emplace_back([&, k] {
        const SerialScope serial;
        right[k] = same(sampler.sample(every(3000, 2), k), expected[k]);
      });
    for (std::thread& loader : loaders) loader.join();
    CHECK(std::accumulate(right.begin(), right.end(), 0) == 6);
  }
}

TEST_CASE("neighbor sampler: what a node takes is a matter of its own") {
  const Graph graph = skewed(500, 8000, true);
  for (NeighborSampling options : ways()) {
    options.fanouts.resize(1);
    const NeighborSampler sampler(graph, options);
    const auto edges_of = [&](const Tensor& seeds, int32_t node) {
      const Block block = sampler.sample(seeds, 3)[0];
      const Read read(block);
      std::vector<int32_t> edges;
      for (size_t e = 0; e < read.edge.size(); ++e)
        if (read.nodes[static_cast<size_t>(read.dst[e])] == node) edges.push_back(read.edge[e]);
      return edges;
    };
    for (int32_t node : {0, 4, 60, 204, 499})
      CHECK(edges_of(Tensor::from(std::vector<int32_t>{7, node, 9}), node) == edges_of(every(500), node));
  }
}

TEST_CASE("neighbor sampler: an aggregation over blocks is the graph's where all neighbours are taken") {
  const Graph host = skewed(300, 4000);
  for (Device device : devices()) {
    CAPTURE(device.str());
    const Graph graph = host.to(device);
    const Tensor x = random_tensor({300, 7}, DType::f64).to(device);
    for (Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
      const Var whole = aggregate(graph, Var(x), {.reduce = reduce});
      const Block block = NeighborSampler(graph, {.fanouts = {-1}}).sample(every(300, 3), 1)[0];
      std::vector<double> expected;
      const std::vector<double> all = values(whole.value()), features = values(x);
      for (size_t i = 0; i < 300; i += 3)
        expected.insert(expected.end(), all.begin() + static_cast<std::ptrdiff_t>(7 * i),
                        all.begin() + static_cast<std::ptrdiff_t>(7 * i + 7));
      std::vector<double> rows;
      for (int32_t id : block.src_nodes().to_vector<int32_t>())
        rows.insert(rows.end(), features.begin() + 7 * id, features.begin() + 7 * id + 7);
      const Var input = Var::parameter(Tensor::from(rows, {block.num_src(), 7}, device));
      const Var y = aggregate(block, input, {.reduce = reduce});
      CHECK(close(y.value(), expected, 1e-12));
      // Its gradient goes over the transposed block.
      sum(y).backward();
      double total = 0.0;
      for (double g : values(input.grad())) total += g;
      if (reduce == Reduce::sum)
        CHECK(total == doctest::Approx(7.0 * static_cast<double>(block.num_edges())));
    }
  }
}

TEST_CASE("neighbor sampler: rows of a block need not ascend, and such a relation is no graph") {
  const Block block = NeighborSampler(skewed(300, 4000), {.fanouts = {-1}}).sample(every(300, 3), 1)[0];
  CHECK_FALSE(block.relation().rows_ascend());
  CHECK(block.relation().reversed().rows_ascend());
  CHECK_FALSE(block.relation().symmetric());
  const Csr csr = block.relation().csr();
  const Csr square{csr.rows,  csr.rows, csr.offsets, Tensor::zeros({csr.entries()}, DType::i32),
                   csr.cache, false};
  CHECK_THROWS_WITH_AS(Graph(Relation::from_csr(square)), doctest::Contains("ascend"), Error);
  Generator generator(1);
  CHECK_THROWS_WITH_AS((void)negative_sampling(block.relation(), 1, generator), doctest::Contains("ascend"),
                       Error);
}

TEST_CASE("neighbor sampler: no seeds, no edges, loops, parallel edges, edges that keep a list's numbers") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    const NeighborSampling options{.fanouts = {2, 2}};
    {  // 0 has a self-loop and a triple edge from 1; 2 nothing.
      const Graph graph = graph_of(3, {0, 1, 1, 1}, {0, 0, 0, 0}).to(device);
      const NeighborSampler all(graph, {.fanouts = {-1, 4}});
      const Tensor seeds = Tensor::from(std::vector<int32_t>{2, 0}, device);
      const auto blocks = all.sample(seeds, 1);
      check_batch(graph, seeds, blocks, all.options());
      CHECK(blocks[1].num_edges() == 4);
      CHECK(blocks[1].num_src() == 3);
      const auto none = all.sample(Tensor::empty({0}, DType::i32, device), 1);
      REQUIRE(none.size() == 2);
      CHECK(none[0].num_src() == 0);
      CHECK(none[0].num_edges() == 0);
      const auto alone = all.sample(Tensor::from(std::vector<int64_t>{2}, device), 1);
      CHECK(alone[0].num_src() == 1);
      CHECK(alone[0].num_edges() == 0);
    }
    for (NeighborSampling way : ways()) {
      if (way.weighted) continue;
      const Graph graph = graph_of(5, {}, {}).to(device);
      check_batch(graph, every(5), NeighborSampler(graph, way).sample(every(5).to(device), 1), way);
    }
    {
      const std::vector<int32_t> src{4, 2, 1, 3, 0, 2}, dst{1, 0, 1, 0, 2, 1};
      const Graph graph(Relation::from_coo(5, 5, Tensor::from(src, device), Tensor::from(dst, device)));
      const NeighborSampler sampler(graph, options);
      check_batch(graph, every(5), sampler.sample(every(5).to(device), 1), options);
    }
  }
}

TEST_CASE("neighbor sampler: bad seeds and options are refused") {
  const Graph graph = skewed(20, 100);
  for (Device device : devices()) {
    const NeighborSampler sampler(graph.to(device), {.fanouts = {2}});
    const auto refused = [&](const Tensor& seeds, const char* why) {
      CHECK_THROWS_WITH_AS((void)sampler.sample(seeds ? seeds.to(device) : seeds, 1), doctest::Contains(why),
                           Error);
    };
    refused(Tensor::from(std::vector<int32_t>{3, 20}), "seed 1 is 20, expected a node from 0 to 19");
    refused(Tensor::from(std::vector<int64_t>{-1}), "seed 0 is -1");
    refused(Tensor::from(std::vector<int64_t>{5, (int64_t{1} << 32) + 3}), "seed 1 is 4294967299");
    refused(Tensor::from(std::vector<int32_t>{3, 7, 5, 7}), "seeds 1 and 3 are both node 7");
    refused(Tensor::zeros({2}), "expected [B] int32 or int64");
    refused(Tensor::zeros({2, 2}, DType::i32), "expected [B] int32 or int64");
    refused({}, "expected [B] int32 or int64");
    // None of which spoils the next batch.
    check_batch(graph.to(device), every(20), sampler.sample(every(20).to(device), 1), {.fanouts = {2}});
  }
  const auto refused = [](const Graph& g, const NeighborSampling& options, const char* why) {
    CHECK_THROWS_WITH_AS(NeighborSampler(g, options), doctest::Contains(why), Error);
  };
  refused(graph, {}, "no fan-outs");
  refused(graph, {.fanouts = {2, 0}}, "a fan-out of 0");
  refused(graph, {.fanouts = {-2}}, "a fan-out of -2");
  refused(graph, {.fanouts = {int64_t{1} << 31}}, "a fan-out of 2147483648");
  refused(graph, {.fanouts = {2}, .replace = true, .labor = true}, "labor");
  refused(graph, {.fanouts = {2}, .weighted = true, .labor = true}, "labor");
  refused(graph, {.fanouts = {2}, .weighted = true}, "without edge weights");
  refused({}, {.fanouts = {2}}, "no graph");
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (float bad : {-1.0f, nan, inf})
    refused(graph_of(3, {0, 1, 2}, {0, 1, 2}, {1.0f, 0.0f, bad}), {.fanouts = {2}, .weighted = true},
            "the weight of edge 2 is");
}
