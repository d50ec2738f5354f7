#include "loader_batches.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kGraphs = 23;

/// Paths of 0 to 6 nodes in both directions, with weights and attributes: graph 0 has no node, 1 no edge.
Dataset small(bool sparse = false) {
  std::vector<int32_t> src, dst, label;
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < kGraphs; ++g) {
    const int64_t nodes = g % 7, at = offsets.back();
    for (int64_t i = 1; i < nodes; ++i) {
      src.insert(src.end(), {static_cast<int32_t>(at + i - 1), static_cast<int32_t>(at + i)});
      dst.insert(dst.end(), {static_cast<int32_t>(at + i), static_cast<int32_t>(at + i - 1)});
    }
    label.push_back(static_cast<int32_t>(g % 3));
    offsets.push_back(at + nodes);
  }
  const int64_t nodes = offsets.back();
  std::vector<float> weight(src.size()), x(static_cast<size_t>(nodes * 5));
  std::iota(weight.begin(), weight.end(), 1.0f);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? static_cast<float>(i) : 0.0f;
  Dataset data;
  data.task = Task::graph_class;
  data.classes = 3;
  data.graph = Graph::from_coo(nodes, Tensor::from(src), Tensor::from(dst), Tensor::from(weight));
  data.x = Features(Tensor::from(x, {nodes, 5}));
  if (sparse) {
    std::vector<int64_t> rows{0};
    std::vector<int32_t> columns;
    std::vector<float> entries;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] != 0.0f) {
        columns.push_back(static_cast<int32_t>(i % 5));
        entries.push_back(x[i]);
      }
      if (i % 5 == 4) rows.push_back(static_cast<int64_t>(columns.size()));
    }
    data.x = Features(SparseMatrix::from_csr(nodes, 5, rows, columns, entries));
  }
  data.graph_offsets = Tensor::from(offsets);
  data.graph_y = Tensor::from(label);
  return data;
}

Tensor every() { return adj::test::every(kGraphs); }

LoaderOptions few(int workers = 0) {
  return {.batch_size = 5, .shuffle = true, .seed = 5, .workers = workers};
}

/// So many batches an epoch, each drawn anew.
LoaderOptions drawn(int workers = 0) { return {.batch_size = 5, .steps = 7, .seed = 5, .workers = workers}; }

bool same(const std::vector<GraphBatch>& a, const std::vector<GraphBatch>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const GraphBatch& p, const GraphBatch& q) {
    const Csr &s = p.graph.in_edges(), &t = q.graph.in_edges();
    return same_bits(p.graphs, q.graphs) && same_bits(p.y, q.y) && same_bits(p.offsets, q.offsets) &&
           same_bits(p.x.to_dense(), q.x.to_dense()) && same_bits(s.offsets, t.offsets) &&
           same_bits(s.indices, t.indices) && same_bits(p.graph.edge_weight(), q.graph.edge_weight());
  });
}

std::vector<int32_t> graphs_of(const std::vector<GraphBatch>& all) {
  return numbers_of(all, &GraphBatch::graphs);
}

}  // namespace

TEST_CASE("every graph is in one batch of an epoch, with its own nodes, edges, features and label") {
  for (Device device : devices())
    for (bool sparse : {false, true}) {
      CAPTURE(device.str());
      const Dataset host = small(sparse), data = host.to(device);
      const std::vector<GraphBatch> all = batches(GraphLoader(data, every(), few()), 0);
      CHECK(all.size() == 5);
      CHECK(all.back().size() == 3);
      std::vector<int32_t> seen = graphs_of(all);
      CHECK(seen != every().to_vector<int32_t>());
      std::sort(seen.begin(), seen.end());
      CHECK(seen == every().to_vector<int32_t>());
      const auto bounds = host.graph_offsets.to_vector<int64_t>();
      const auto x = host.x.to_dense().to_vector<float>();
      const auto y = host.graph_y.to_vector<int32_t>();
      const auto starts = host.graph.in_edges().offsets.to_vector<int64_t>();
      const auto sources = host.graph.in_edges().indices.to_vector<int32_t>();
      const auto weights = host.graph.edge_weight().to_vector<float>();
      for (const GraphBatch& batch : all) {
        CHECK(batch.graph.device() == device);
        CHECK(batch.x.device() == device);
        CHECK(batch.x.is_sparse() == sparse);
        const auto graphs = batch.graphs.to_vector<int32_t>(), labels = batch.y.to_vector<int32_t>();
        const auto offsets = batch.offsets.to_vector<int64_t>();
        const auto rows = batch.x.to_dense().to_vector<float>();
        const auto edges = batch.graph.in_edges().offsets.to_vector<int64_t>();
        const auto from = batch.graph.in_edges().indices.to_vector<int32_t>();
        const auto weight = batch.graph.edge_weight().to_vector<float>();
        REQUIRE(offsets.size() == graphs.size() + 1);
        CHECK(offsets.back() == batch.graph.num_nodes());
        for (size_t k = 0; k < graphs.size(); ++k) {
          const auto g = static_cast<size_t>(graphs[k]);
          CHECK(labels[k] == y[g]);
          REQUIRE(offsets[k + 1] - offsets[k] == bounds[g + 1] - bounds[g]);
          for (int64_t i = 0; i < bounds[g + 1] - bounds[g]; ++i) {
            const auto here = static_cast<size_t>(offsets[k] + i), there = static_cast<size_t>(bounds[g] + i);
            for (size_t f = 0; f < 5; ++f) REQUIRE(rows[here * 5 + f] == x[there * 5 + f]);
            REQUIRE(edges[here + 1] - edges[here] == starts[there + 1] - starts[there]);
            for (int64_t e = 0; e < edges[here + 1] - edges[here]; ++e) {
              const auto p = static_cast<size_t>(edges[here] + e), q = static_cast<size_t>(starts[there] + e);
              REQUIRE(from[p] - offsets[k] == sources[q] - bounds[g]);
              REQUIRE(weight[p] == weights[q]);
            }
          }
        }
      }
    }
}

TEST_CASE("an epoch of graphs is the same for all workers and threads, also after other epochs") {
  for (Device device : devices())
    for (const auto& options : {&few, &drawn}) {
      CAPTURE(device.str());
      const Dataset data = small().to(device);
      const auto make = [&](int workers) { return GraphLoader(data, every(), options(workers)); };
      const auto expected = epoch_of_any_workers(make, same);
      CHECK(graphs_of(batches(make(0), 2)) != graphs_of(expected));
      LoaderOptions reseeded = options(0);
      reseeded.seed = 6;
      CHECK(graphs_of(batches(GraphLoader(data, every(), reseeded), 3)) != graphs_of(expected));
    }
}

TEST_CASE("without shuffling graphs keep the given order, in int32 or int64") {
  const Dataset data = small();
  LoaderOptions options = few();
  options.shuffle = false;
  const std::vector<int32_t> given{20, 3, 0, 1, 7, 6, 22};
  CHECK(graphs_of(batches(GraphLoader(data, Tensor::from(given), options), 4)) == given);
  CHECK(graphs_of(batches(GraphLoader(data, ids({20, 3, 0, 1, 7, 6, 22}), options), 0)) == given);
}

TEST_CASE("drawn batches hold different graphs, and over many epochs each as often") {
  const Dataset data = small();
  const GraphLoader loader(data, ids({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), drawn());
  CHECK(loader.size() == 7);
  CHECK(loader.num_graphs() == 10);
  std::vector<int64_t> times(kGraphs);
  for (int64_t e = 0; e < 100; ++e)
    for (const GraphBatch& batch : loader.epoch(e)) {
      const auto graphs = batch.graphs.to_vector<int32_t>();
      REQUIRE(graphs.size() == 5);
      REQUIRE(std::set<int32_t>(graphs.begin(), graphs.end()).size() == 5);
      for (const int32_t g : graphs) ++times[static_cast<size_t>(g)];
    }
  for (size_t g = 0; g < times.size(); ++g)  // 700 batches, each graph in half of them; deviation 13
    CHECK(std::abs(times[g] - (g >= 1 && g <= 10 ? 350 : 0)) < 66);
  LoaderOptions all = drawn();
  all.batch_size = 50;  // more than there are
  for (const GraphBatch& batch : GraphLoader(data, ids({4, 2}), all).epoch(0)) CHECK(batch.size() == 2);
}

TEST_CASE("labels of graphs of several columns, or none") {
  const Dataset data = small();
  const Tensor y = random_tensor({kGraphs, 4});
  LoaderOptions options = few();
  options.shuffle = false;
  const auto with = [&](const Tensor& labels) {
    return GraphLoader(data.graph, data.graph_offsets, make_feature_store(data.x), labels, ids({9, 2}),
                       options)
        .batch(0, 0);
  };
  CHECK(same_bits(with(y).y.rows(0, 1), y.rows(9, 10)));
  CHECK(same_bits(with(y).y.rows(1, 2), y.rows(2, 3)));
  CHECK_FALSE(with({}).y);
}

TEST_CASE("batches of graphs without nodes, and one graph that is all") {
  for (Device device : devices()) {
    const Dataset data = small().to(device);
    const GraphBatch none = GraphLoader(data, ids({0, 7, 14}), few()).batch(0, 0);  // none has a node
    CHECK(none.size() == 3);
    CHECK(none.graph.num_nodes() == 0);
    CHECK(segment_sum(Var(none.x.to_dense()), none.offsets).value().shape() == Shape{3, 5});
    Dataset alone = small();
    alone.graph_offsets = ids({0, alone.num_nodes()});
    alone.graph_y = Tensor::from(std::vector<int32_t>{1});
    alone = alone.to(device);
    const GraphBatch whole = GraphLoader(alone, ids({0}), few()).batch(0, 0);
    CHECK(same_bits(whole.x.to_dense(), alone.x.to_dense()));
    CHECK(whole.graph.num_edges() == alone.graph.num_edges());
  }
}

TEST_CASE("refusals of the graph loader") {
  const Dataset data = small();
  const auto of = [&](const Tensor& which) { return [&data, which] { GraphLoader(data, which, few()); }; };
  CHECK(refused(of({}), "expected int32 or int64 [K]"));
  CHECK(refused(of(Tensor::zeros({3})), "expected int32 or int64 [K]"));
  CHECK(refused(of(Tensor::zeros({3, 1}, DType::i32)), "expected int32 or int64 [K]"));
  CHECK(refused(of(ids({1, kGraphs})), "graphs[1] is 23, expected 0 to 22"));
  CHECK(refused(of(ids({-1})), "graphs[0] is -1"));
  CHECK(refused(of(ids({int64_t{1} << 32})), "graphs[0] is 4294967296"));
  CHECK(refused(of(ids({5, 6, 5})), "graphs[2] is 5, which stands there before"));
  check_options_refused([&](const auto& change) {
    LoaderOptions options = few();
    change(options);
    return GraphLoader(data, ids({1}), options);
  });
  CHECK(refused([&] { GraphLoader(data, ids({1}), {.steps = -1}); }, "-1 steps"));
  const auto from = [&](auto&& change) {
    return [&data, change] {
      Dataset changed = data;
      change(changed);
      GraphLoader(changed, ids({1}), few());
    };
  };
  CHECK(refused(from([](auto& d) { d.graph_offsets = {}; }), "expected [G + 1] int64"));
  CHECK(refused(from([](auto& d) { d.graph_offsets = d.graph_offsets.to(DType::i32); }), "int64"));
  CHECK(refused(from([](auto& d) { d.graph_offsets = ids({}); }), "expected [G + 1] int64"));
  CHECK(refused(from([](auto& d) { d.x = {}; }), "has no features"));
  CHECK(refused(from([](auto& d) { d.x = Features(Tensor::zeros({3, 2})); }), "features of 3 nodes"));
  CHECK(refused(from([](auto& d) { d.graph_y = Tensor::zeros({kGraphs - 1}); }), "expected [23] or [23, T]"));
  CHECK(refused(from([](auto& d) {
                  d.graph_offsets = ids({0, 5, 3, d.num_nodes()});
                }),
                "offsets[1] is 5 and offsets[2] is 3, expected never to fall"));
  CHECK(refused(from([](auto& d) {
                  d.graph_offsets = ids({0, 2, d.num_nodes() + 1});
                  d.graph_y = Tensor::zeros({2}, DType::i32);
                }),
                ""));
  CHECK(refused(from([](auto& d) {  // parts a path in two
                  d.graph_offsets = ids({0, 2, d.num_nodes()});
                  d.graph_y = Tensor::zeros({2}, DType::i32);
                }),
                ""));
}

TEST_CASE("a step over batches of graphs has the gradient of all graphs at once, for each way to pool") {
  for (Device device : devices()) {
    const Dataset data = small().to(device);
    using Pool = Var (*)(const Var&, const Tensor&);
    for (const Pool pool : {Pool([](const Var&x, const Tensor&o) { return segment_sum(x, o); }),
                            Pool([](const Var&x, const Tensor&o) { return segment_mean(x, o); }),
                            Pool([](const Var&x, const Tensor&o) { return segment_max(x, o); })}) {
      manual_seed(3);
      nn::Model<nn::Linear> model(5, 3);
      model.to(device);
      const auto logits = [&](const Graph& graph, const Tensor& x, const Tensor& offsets) {
        const Var h = Var(x) * 0.01;
        return model(pool(h + aggregate(graph, h), offsets));
      };
      cross_entropy(logits(data.graph, data.x.to_dense(), data.graph_offsets), data.graph_y).backward();
      const std::vector<Tensor> expected = take_gradients(model);
      const GraphLoader loader(data, every(), few(2));
      for (const GraphBatch& batch : loader.epoch(0)) {
        const double share = static_cast<double>(batch.size()) / static_cast<double>(loader.num_graphs());
        (cross_entropy(logits(batch.graph, batch.x.to_dense(), batch.offsets), batch.y) * share).backward();
      }
      check_gradients_are(model, expected, 1e-4);
    }
  }
}
