#include "../reference/plain.h"
#include "subgraph_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kGraphs = 23;

/// Paths of 0 to 6 nodes in both directions, with weights: graph 0 has no node, 1 no edge.
Dataset small(bool sparse = false) {
  std::vector<int32_t> src, dst, label;
  std::vector<int64_t> offsets{0};
  for (int64_t g = 0; g < kGraphs; ++g) {
    const int64_t nodes = g % 7, first = offsets.back();
    for (int64_t i = 1; i < nodes; ++i) {
      src.insert(src.end(), {static_cast<int32_t>(first + i - 1), static_cast<int32_t>(first + i)});
      dst.insert(dst.end(), {static_cast<int32_t>(first + i), static_cast<int32_t>(first + i - 1)});
    }
    label.push_back(static_cast<int32_t>(g % 3));
    offsets.push_back(first + nodes);
  }
  const int64_t nodes = offsets.back();
  std::vector<float> weight(src.size());
  std::iota(weight.begin(), weight.end(), 1.0f);
  Dataset data;
  data.task = Task::graph_class;
  data.classes = 3;
  data.graph = Graph::from_coo(nodes, Tensor::from(src), Tensor::from(dst), Tensor::from(weight));
  const SparseMatrix x = Draw(3, {}, DType::f32).sparse(nodes, 5, 2 * nodes);
  data.x = sparse ? Features(x) : Features(x.to_dense());
  data.graph_offsets = Tensor::from(offsets);
  data.graph_y = Tensor::from(label);
  return data;
}

Tensor every() { return adj::test::every(kGraphs); }

LoaderOptions few(int workers = 0, uint64_t seed = 5) {
  return {.batch_size = 5, .shuffle = true, .seed = seed, .workers = workers};
}

/// That many batches per epoch, each drawn independently.
LoaderOptions drawn(int workers = 0, uint64_t seed = 5) {
  return {.batch_size = 5, .steps = 7, .seed = seed, .workers = workers};
}

std::vector<int32_t> graphs_of(const std::vector<GraphBatch>& all) {
  return numbers_of(all, &GraphBatch::graphs);
}

}  // namespace

TEST_CASE("every graph is in one batch of an epoch, with its own nodes, edges, features and label") {
  for (Device device : devices())
    for (bool sparse : {false, true}) {
      const Dataset host = small(sparse), data = host.to(device);
      const std::vector<GraphBatch> all = batches(GraphLoader(data, every(), few()), 0);
      CHECK(all.size() == 5);
      CHECK(all.back().size() == 3);
      std::vector<int32_t> seen = graphs_of(all);
      CHECK(seen != every().to_vector<int32_t>());
      std::sort(seen.begin(), seen.end());
      CHECK(seen == every().to_vector<int32_t>());
      const auto bounds = host.graph_offsets.to_vector<int64_t>();
      for (const GraphBatch& batch : all) {
        std::vector<int32_t> nodes;
        std::vector<int64_t> offsets{0};
        for (const int32_t g : batch.graphs.to_vector<int32_t>()) {
          for (int64_t i = bounds[uz(g)]; i < bounds[uz(g) + 1]; ++i)
            nodes.push_back(static_cast<int32_t>(i));
          offsets.push_back(std::ssize(nodes));
        }
        CHECK(batch.graph.device() == device);
        CHECK(batch.nodes.to_vector<int32_t>() == nodes);
        CHECK(batch.offsets.to_vector<int64_t>() == offsets);
        CHECK(has_rows(batch.x, data, batch.nodes));
        CHECK(same_bits(batch.y.to(Device::cpu()), detail::gather_edges(data.graph_y.to(Device::cpu()),
                                                                        batch.graphs.to(Device::cpu()))));
        CHECK(edges_of(batch.graph, batch.nodes, batch.graph.edge_weight()) ==
              edges_among(host.graph, batch.nodes, host.graph.edge_weight()));
      }
    }
}

TEST_CASE("an epoch of graphs is the same for any workers and threads, also after other epochs") {
  for (Device device : devices())
    for (const auto& options : {&few, &drawn}) {
      const Dataset data = small().to(device);
      const auto make = [&](int workers, uint64_t seed) {
        return GraphLoader(data, every(), options(workers, seed));
      };
      const auto expected = epoch_of_any_workers(make);
      CHECK(graphs_of(batches(make(0, 5), 2)) != graphs_of(expected));
      CHECK(graphs_of(batches(make(0, 6), 3)) != graphs_of(expected));
    }
}

TEST_CASE("without shuffling graphs keep the given order, in int32 or int64") {
  const Dataset data = small();
  LoaderOptions options = few();
  options.shuffle = false;
  const std::vector<int32_t> selection{20, 3, 0, 1, 7, 6, 22};
  CHECK(graphs_of(batches(GraphLoader(data, Tensor::from(selection), options), 4)) == selection);
  CHECK(graphs_of(batches(GraphLoader(data, ids({20, 3, 0, 1, 7, 6, 22}), options), 0)) == selection);
}

TEST_CASE("drawn batches have distinct graphs, all equally often over many epochs") {
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

TEST_CASE("graph labels of several columns, or none") {
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

TEST_CASE("batches of graphs without nodes, and a single graph") {
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

TEST_CASE("errors of the graph loader") {
  check_refused("graph", "graphs",
                [](const Dataset& data, const Tensor& which, const LoaderOptions& options) {
                  return GraphLoader(data, which, options);
                });
  const Dataset data = small();
  const int64_t nodes = data.num_nodes();
  const auto with = [&](const Tensor& offsets) {
    return GraphLoader(data.graph, offsets, data.x, {}, ids({1}), few());
  };
  for (const Tensor& wrong : {Tensor(), data.graph_offsets.to(DType::i32), ids({})})
    CHECK_ERROR_HAS(with(wrong), "expected [G + 1] int64");
  CHECK_ERROR_HAS(with(ids({0, 5, 3, nodes})), "offsets[1] is 5 and offsets[2] is 3, expected ascending");
  CHECK_THROWS_AS(with(ids({0, 2, nodes + 1})), Error);
  CHECK_THROWS_AS(with(ids({0, 2, nodes})), Error);  // parts a path in two
}

TEST_CASE("a step over graph batches has the gradient of all graphs at once, for each pooling") {
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
