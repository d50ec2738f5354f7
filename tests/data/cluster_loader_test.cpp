#include "subgraph_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

ClusterLoaderOptions few(int workers = 0, uint64_t seed = 5) {
  return {.parts = 11, .loading = {.batch_size = 3, .shuffle = true, .seed = seed, .workers = workers}};
}

}  // namespace

TEST_CASE("every node is in one batch of an epoch, with all edges within the batch") {
  for (Device device : devices())
    for (const bool sparse : {false, true})
      for (const bool weighted : {false, true}) {
        const Dataset data = small_citations(sparse, weighted).to(device);
        const ClusterLoader loader(data, data.train, few());
        CHECK(loader.size() == 4);
        CHECK(loader.num_parts() == 11);
        const std::vector<SubgraphBatch> all = batches(loader, 0);
        REQUIRE(std::ssize(all) == 4);
        std::vector<int32_t> nodes = nodes_of(all);
        std::sort(nodes.begin(), nodes.end());
        CHECK(nodes == every(300).to_vector<int32_t>());
        const Graph whole = data.graph.to(Device::cpu());
        for (const SubgraphBatch& batch : all) {
          CHECK(batch.graph.device() == device);
          CHECK_FALSE(batch.weight);
          CHECK(agrees(batch, data, data.train));
          CHECK(edges_of(batch.graph, batch.nodes, batch.graph.edge_weight()) ==
                edges_among(whole, batch.nodes, whole.edge_weight()));
          CHECK(static_cast<bool>(batch.graph.edge_weight()) == weighted);
          if (weighted)
            CHECK(edges_of(batch.graph, batch.nodes, batch.graph.edge_attr("number")) ==
                  edges_among(whole, batch.nodes, whole.edge_attr("number")));
        }
      }
}

TEST_CASE("an epoch has the same clusters for any workers and threads, also after other epochs") {
  for (Device device : devices()) {
    const Dataset data = small_citations().to(device);
    (void)epoch_of_any_workers(
        [&](int workers, uint64_t seed) { return ClusterLoader(data, data.train, few(workers, seed)); });
  }
}

TEST_CASE("parts are spread evenly without the empty ones, and in order if not shuffled") {
  Dataset data = small_citations();
  std::vector<int32_t> part(300);
  for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<int32_t>(i * 7 / 300 * 2);  // 0, 2, … 12
  data.part = Tensor::from(part);
  ClusterLoaderOptions options{.loading = {.batch_size = 3}};
  const ClusterLoader loader(data, data.train, options);
  CHECK(loader.num_parts() == 7);
  CHECK(loader.size() == 3);
  const std::vector<SubgraphBatch> all = batches(loader, 4);
  REQUIRE(all.size() == 3);
  const std::vector<int32_t> in_order = every(300).to_vector<int32_t>();
  CHECK(nodes_of(all) == in_order);
  std::vector<size_t> parts;
  for (const SubgraphBatch& batch : all) {
    std::set<int32_t> part_ids;
    for (const int32_t i : batch.nodes.to_vector<int32_t>()) part_ids.insert(part[static_cast<size_t>(i)]);
    parts.push_back(part_ids.size());
  }
  CHECK(parts == std::vector<size_t>{2, 2, 3});
  CHECK(same(batches(loader, 0), all));
  options.loading.batch_size = 100;
  CHECK(ClusterLoader(data, data.train, options).size() == 1);
  options.loading.shuffle = true;
  options.loading.batch_size = 1;
  CHECK(ClusterLoader(data, data.train, options).size() == 7);
  CHECK(nodes_of(batches(ClusterLoader(data, data.train, options), 0)) != in_order);
}

TEST_CASE("some or all clusters may have no training nodes") {
  Dataset data = small_citations();
  std::vector<int32_t> part(300, 1);
  for (const int32_t i : data.train.to_vector<int32_t>()) part[static_cast<size_t>(i)] = 0;
  data.part = Tensor::from(part);
  const std::vector<SubgraphBatch> all = batches(ClusterLoader(data, data.train, {}), 0);
  REQUIRE(all.size() == 2);
  CHECK(all[0].seeds.numel() == data.train.numel());
  CHECK(all[1].seeds.shape() == Shape{0});
  const Tensor none = Tensor::empty({0}, DType::i32);
  const ClusterLoader unlabelled(data.graph, data.x, {}, none, data.part, {});
  CHECK_FALSE(unlabelled.batch(0, 1).y);
  const Tensor y = random_tensor({300, 4});
  const SubgraphBatch batch = ClusterLoader(data.graph, data.x, y, none, data.part, {}).batch(0, 1);
  CHECK(same_bits(batch.y.rows(0, 1),
                  y.rows(batch.nodes.to_vector<int32_t>()[0], batch.nodes.to_vector<int32_t>()[0] + 1)));
}

TEST_CASE("clusters of one node each") {
  for (Device device : devices()) {
    const Dataset data = small_citations(true).to(device);
    const ClusterLoader loader(data, data.train, {.parts = 1000, .loading = {.shuffle = true, .workers = 2}});
    CHECK(loader.size() == 300);
    nn::Model<TwoLayers<nn::GCNConv>> model(20, 3);
    model.to(device);
    int64_t seeds = 0;
    for (const SubgraphBatch& batch : loader.epoch(0)) {
      CHECK(batch.size() == 1);
      if (batch.seeds.numel() == 0) continue;
      cross_entropy(model(batch.graph, batch.x), batch.y, batch.seeds).backward();
      ++seeds;
    }
    CHECK(seeds == data.train.numel());
  }
}

TEST_CASE("workers prepare the derived structures that the options request") {
  Dataset data = small_citations();
  std::atomic<int> asked = 0;
  ClusterLoaderOptions options = few(2);
  options.loading.derive = [&](const Graph& graph) {
    ++asked;
    (void)graph.gcn_adjacency();
  };
  CHECK(batches(ClusterLoader(data, data.train, options), 0).size() == 4);
  CHECK(asked == 4);
  options.loading.derive = [](const Graph& graph) {
    if (graph.num_nodes() > 0) fail("no such matrix");
  };
  for (int workers : {0, 1, 3}) {
    options.loading.workers = workers;
    const ClusterLoader loader(data, data.train, options);
    CHECK_ERROR(batches(loader, 0), "no such matrix");
  }
}

TEST_CASE("with all parts in a batch a step has the gradient of the whole graph") {
  for (Device device : devices())
    for (const bool sparse : {false, true}) {
      const Dataset data = small_citations(sparse).to(device);
      manual_seed(3);
      nn::Model<TwoLayers<nn::GCNConv>> model(20, 3);
      model.to(device);
      cross_entropy(model(data.graph, data.x), data.y, data.train).backward();
      const std::vector<Tensor> expected = take_gradients(model);
      ClusterLoaderOptions options = few(1);
      options.loading.batch_size = 11;
      const SubgraphBatch batch = ClusterLoader(data, data.train, options).batch(1, 0);
      cross_entropy(model(batch.graph, batch.x), batch.y, batch.seeds).backward();
      check_gradients_are(model, expected, 1e-5);
    }
}

TEST_CASE("errors of the cluster loader") {
  check_refused("cluster", "seeds",
                [](const Dataset& data, const Tensor& seeds, const LoaderOptions& options) {
                  return ClusterLoader(data, seeds, {.loading = options});
                });
  const Dataset data = small_citations();
  const Tensor one = ids({1});
  const auto refused = [&](const Tensor& part, const char* message) {
    CHECK_ERROR_HAS(ClusterLoader(data.graph, data.x, data.y, one, part, {}), message);
  };
  const auto parts_with = [&](int32_t wrong) {
    std::vector<int32_t> assignment(300, 2);
    assignment[7] = wrong;
    return Tensor::from(assignment);
  };
  refused({}, "cluster loader: parts are");
  refused(Tensor::zeros({299}, DType::i32), "parts are");
  refused(Tensor::zeros({300}), "parts are");
  refused(parts_with(-1), "cluster loader: part[7] is -1, expected 0 to 299");
  refused(parts_with(300), "part[7] is 300");
  CHECK_ERROR_HAS(ClusterLoader(data, one, {.parts = 5, .loading = {.drop_last = true}}),
                  "parts are spread evenly");
  CHECK_ERROR_HAS(ClusterLoader(Graph(), data.x, {}, one, parts_with(2), {}), "a graph without nodes");
  CHECK_ERROR_HAS(ClusterLoader(data, one, {}), "has no partition");
  CHECK_ERROR_HAS(ClusterLoader(data, one, {.parts = -1}), "-1 parts");
}
