// Properties of every sampled batch; neighbor_draws_test.cpp counts draws.

#include "edges.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/stream.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/graph/sample/neighbor_sampler.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

Graph skewed(int64_t nodes, int64_t edges, bool weighted = false) {
  const EdgeList list = rmat_graph(nodes, edges, {}, 5);
  std::vector<float> weight;
  for (int32_t e : numbers(std::ssize(list.src))) weight.push_back(static_cast<float>(e % 5) * 0.25f);
  return Graph::from_coo(nodes, ints(list.src), ints(list.dst), weighted ? Tensor::from(weight) : Tensor());
}

Tensor every(int64_t n, int64_t step = 1) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; i += step) ids.push_back(static_cast<int32_t>(i));
  return ints(ids);
}

/// A block on the host.
struct Read {
  explicit Read(const Block& block)
      : nodes(block.src_nodes().to_vector<int32_t>()),
        edge(block.edge_ids().to_vector<int32_t>()),
        src(block.relation().edge_index().src.to_vector<int32_t>()),
        dst(block.relation().edge_index().dst.to_vector<int32_t>()) {}
  std::vector<int32_t> nodes, edge;  // global numbers of sources and edges
  std::vector<int32_t> src, dst;     // local
};

/// The properties of every batch.
void check_batch(const Graph& graph, const Tensor& seeds, const std::vector<Block>& blocks,
                 const NeighborSampling& options) {
  const std::vector<Cell> cells = cells_of(graph.edge_index());
  std::vector<float> weight;
  if (options.weighted) weight = graph.edge_weight().to_vector<float>();
  std::vector<int64_t> choosable(uz(graph.num_nodes()));
  for (size_t e = 0; e < cells.size(); ++e)
    choosable[uz(cells[e].second)] += static_cast<int64_t>(weight.empty() || weight[e] > 0.0f);
  REQUIRE(blocks.size() == options.fanouts.size());
  auto targets = seeds.to(DType::i32).to_vector<int32_t>();
  for (size_t hop = 0; hop < blocks.size(); ++hop) {
    CAPTURE(hop);
    const Block& block = blocks[blocks.size() - 1 - hop];
    CHECK(block.device() == graph.device());
    const Read read(block);
    const auto num_dst = uz(block.num_dst());
    REQUIRE(num_dst == targets.size());
    // Every source once: first the targets, then the others in order of first appearance.
    REQUIRE(std::equal(targets.begin(), targets.end(), read.nodes.begin()));
    CHECK(set_of(read.nodes).size() == read.nodes.size());
    auto next = static_cast<int32_t>(num_dst);
    bool first_named = true, of_graph = true, apart = true, positive = true;
    std::vector<int64_t> taken(num_dst);
    std::set<std::pair<int32_t, int32_t>> seen;
    for (size_t e = 0; e < read.src.size(); ++e) {
      first_named &= read.src[e] <= next;
      next = std::max(next, read.src[e] + 1);
      const auto id = uz(read.edge[e]);
      of_graph &= cells[id] == Cell{read.nodes[uz(read.src[e])], read.nodes[uz(read.dst[e])]};
      apart &= seen.emplace(read.dst[e], read.edge[e]).second;
      positive &= weight.empty() || weight[id] > 0.0f;
      ++taken[uz(read.dst[e])];
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
        const int64_t degree = choosable[uz(targets[i])];
        const int64_t expected = fanout < 0        ? degree
                                 : options.replace ? (degree > 0 ? fanout : 0)
                                                   : std::min(degree, fanout);
        if (taken[i] != expected) FAIL_CHECK("target " << i << " has " << taken[i] << ", not " << expected);
      }
    targets = read.nodes;
  }
}

bool same(const std::vector<Block>& a, const std::vector<Block>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Block& x, const Block& y) {
    const Csr &one = x.relation().csr(), &other = y.relation().csr();
    const auto equal = [](const Tensor& s, const Tensor& t) {
      return same_bits(s.to(DType::i64), t.to(DType::i64));
    };
    return equal(x.src_nodes(), y.src_nodes()) && equal(x.edge_ids(), y.edge_ids()) &&
           equal(one.indices, other.indices) && equal(one.offsets, other.offsets);
  });
}

std::vector<NeighborSampling> samplings() {
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

TEST_CASE("neighbor sampler: batches of all options are right, repeatable, and equal on all devices") {
  const Graph host = skewed(400, 6000, true);
  for (Device device : devices()) {
    const Graph graph = host.to(device);
    for (const NeighborSampling& options : samplings()) {
      CAPTURES(options.fanouts[0]);
      const NeighborSampler sampler(graph, options);
      for (const Tensor& seeds : {every(400, 7), every(400)}) {
        const std::vector<Block> blocks = sampler.sample(seeds.to(device), 11);
        check_batch(graph, seeds, blocks, options);
        CHECK(same(blocks, sampler.sample(seeds.to(DType::i64).to(device), 11)));
        // The same bits as on the host.
        CHECK(same(blocks, NeighborSampler(host, options).sample(seeds, 11)));
      }
      if (options.fanouts[0] < 100)
        CHECK_FALSE(same(sampler.sample(every(400), 11), sampler.sample(every(400), 12)));
    }
  }
}

TEST_CASE("neighbor sampler: batches do not depend on the number of threads or other samplers") {
  const Graph graph = skewed(3000, 60000, true);
  for (const NeighborSampling& options : samplings()) {
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

TEST_CASE("neighbor sampler: the edges of a node do not depend on the other seeds") {
  const Graph graph = skewed(500, 8000, true);
  for (NeighborSampling options : samplings()) {
    options.fanouts.resize(1);
    const NeighborSampler sampler(graph, options);
    const auto edges_of = [&](const Tensor& seeds, int32_t node) {
      const Block block = sampler.sample(seeds, 3)[0];
      const Read read(block);
      std::vector<int32_t> edges;
      for (size_t e = 0; e < read.edge.size(); ++e)
        if (read.nodes[uz(read.dst[e])] == node) edges.push_back(read.edge[e]);
      return edges;
    };
    for (int32_t node : {0, 4, 60, 204, 499})
      CHECK(edges_of(ints({7, node, 9}), node) == edges_of(every(500), node));
  }
}

TEST_CASE("neighbor sampler: with all neighbours, aggregation over a block equals that over the graph") {
  const Graph host = skewed(300, 4000);
  on_devices([&](Device device) {
    const Graph graph = host.to(device);
    const Tensor x = random_tensor({300, 7}, DType::f64).to(device);
    for (Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
      const Var whole = aggregate(graph, Var(x), {.reduce = reduce});
      const Block block = NeighborSampler(graph, {.fanouts = {-1}}).sample(every(300, 3), 1)[0];
      const Var input = Var::parameter(index_select(Var(x), block.src_nodes()).value());
      const Var y = aggregate(block, input, {.reduce = reduce});
      CHECK(close(y.value(), index_select(whole, block.dst_nodes()).value(), 1e-12));
      // The gradient uses the transposed block.
      sum(y).backward();
      if (reduce == Reduce::sum)
        CHECK(sum(Var(input.grad())).item() == doctest::Approx(7.0 * static_cast<double>(block.num_edges())));
    }
  });
}

TEST_CASE("neighbor sampler: blocks with unsorted rows are refused as a graph") {
  const Block block = NeighborSampler(skewed(300, 4000), {.fanouts = {-1}}).sample(every(300, 3), 1)[0];
  CHECK_FALSE(block.relation().rows_ascend());
  CHECK(block.relation().reversed().rows_ascend());
  CHECK_FALSE(block.relation().symmetric());
  const Csr csr = block.relation().csr();
  const Csr square{csr.rows,  csr.rows, csr.offsets, Tensor::zeros({csr.entries()}, DType::i32),
                   csr.cache, false};
  CHECK_ERROR_HAS(Graph(Relation::from_csr(square)), "ascend");
  Generator generator(1);
  CHECK_ERROR_HAS(negative_sampling(block.relation(), 1, generator), "ascend");
}

TEST_CASE("neighbor sampler: no seeds, no edges, loops, parallel edges, relations from lists") {
  on_devices([&](Device device) {
    const NeighborSampling options{.fanouts = {2, 2}};
    {  // 0 has a self-loop and a triple edge from 1; 2 has no edge.
      const Graph graph = graph_of(3, {0, 1, 1, 1}, {0, 0, 0, 0}, device);
      const NeighborSampler all(graph, {.fanouts = {-1, 4}});
      const Tensor seeds = ints({2, 0}, device);
      const auto blocks = all.sample(seeds, 1);
      check_batch(graph, seeds, blocks, all.options());
      CHECK(blocks[1].num_edges() == 4);
      CHECK(blocks[1].num_src() == 3);
      const auto none = all.sample(ints({}, device), 1);
      REQUIRE(none.size() == 2);
      CHECK(none[0].num_src() == 0);
      CHECK(none[0].num_edges() == 0);
      const auto alone = all.sample(longs({2}, device), 1);
      CHECK(alone[0].num_src() == 1);
      CHECK(alone[0].num_edges() == 0);
    }
    for (const NeighborSampling& any : samplings()) {
      if (any.weighted) continue;
      const Graph graph = graph_of(5, {}, {}, device);
      check_batch(graph, every(5), NeighborSampler(graph, any).sample(every(5).to(device), 1), any);
    }
    {
      const Graph graph(relation_of({5, {4, 2, 1, 3, 0, 2}, {1, 0, 1, 0, 2, 1}}, device));
      const NeighborSampler sampler(graph, options);
      check_batch(graph, every(5), sampler.sample(every(5).to(device), 1), options);
    }
  });
}

TEST_CASE("neighbor sampler: bad seeds and options are refused") {
  const Graph graph = skewed(20, 100);
  for (Device device : devices()) {
    const NeighborSampler sampler(graph.to(device), {.fanouts = {2}});
    const auto refused = [&](const Tensor& seeds, const char* why) {
      CHECK_ERROR_HAS(sampler.sample(seeds ? seeds.to(device) : seeds, 1), why);
    };
    refused(ints({3, 20}), "seed 1 is 20, expected a node from 0 to 19");
    refused(longs({-1}), "seed 0 is -1");
    refused(longs({5, (int64_t{1} << 32) + 3}), "seed 1 is 4294967299");
    refused(ints({3, 7, 5, 7}), "seeds 1 and 3 are both node 7");
    refused(Tensor::zeros({2}), "expected [B] int32 or int64");
    refused(Tensor::zeros({2, 2}, DType::i32), "expected [B] int32 or int64");
    refused({}, "expected [B] int32 or int64");
    // The next batch is right.
    check_batch(graph.to(device), every(20), sampler.sample(every(20).to(device), 1), {.fanouts = {2}});
  }
  const auto refused = [](const Graph& g, const NeighborSampling& options, const char* why) {
    CHECK_ERROR_HAS(NeighborSampler(g, options), why);
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
    refused(
        graph_of(3, {0, 1, 2}, {0, 1, 2}).with_edge_weight(Tensor::from(std::vector<float>{1.0f, 0.0f, bad})),
        {.fanouts = {2}, .weighted = true}, "the weight of edge 2 is");
}

TEST_CASE("neighbor sampler: blocks have the weights and attributes of the graph's edges") {
  const Graph graph = skewed(200, 1500, true);
  const Tensor kind = every(graph.num_edges());  // each edge's number
  for (Device device : devices()) {
    const NeighborSampler sampler(graph.with_edge_attr("attr", kind).to(device), {.fanouts = {4, -1}});
    const auto weight = graph.edge_weight().to_vector<float>();
    for (const Block& block : sampler.sample(every(200, 7).to(device), 3)) {
      const auto edges = block.edge_ids().to_vector<int32_t>();
      CHECK(block.edge_attributes().at("attr").to_vector<int32_t>() == edges);
      std::vector<float> expected;
      for (const int32_t e : edges) expected.push_back(weight[static_cast<size_t>(e)]);
      CHECK(block.edge_weight().to_vector<float>() == expected);
    }
    // Weights that only draw are not copied.
    const NeighborSampler drawing(graph.to(device), {.fanouts = {4, -1}, .weighted = true}),
        bare(graph.to(device), {.fanouts = {4, -1}, .weighted = true, .keeps_weights = false});
    const auto with = drawing.sample(every(200, 7).to(device), 3),
               without = bare.sample(every(200, 7).to(device), 3);
    for (size_t layer = 0; layer < 2; ++layer) {
      CHECK(same_bits(with[layer].edge_ids(), without[layer].edge_ids()));
      CHECK(with[layer].edge_weight());
      CHECK_FALSE(without[layer].edge_weight());
    }
  }
}
