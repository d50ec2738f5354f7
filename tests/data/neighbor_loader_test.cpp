#include "subgraph_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

Tensor every(const Dataset& data) { return adj::test::every(data.num_nodes(), data.device()); }

NeighborLoaderOptions few(int workers = 0, uint64_t seed = 5) {
  return {.sampling = {.fanouts = {4, 3}},
          .loading = {.batch_size = 37, .shuffle = true, .seed = seed, .workers = workers}};
}

std::vector<int32_t> seeds_of(const std::vector<NeighborBatch>& all) {
  return numbers_of(all, &NeighborBatch::seeds);
}

/// Two layers over relations, without dropout.
struct Sage : nn::Module {
  nn::Child<nn::SAGEConv> conv1, conv2;
  Sage(int64_t in, int64_t out) : conv1(this, "conv1", in, 8), conv2(this, "conv2", 8, out) {}
  Var layer(size_t l, const Block& block, const Var& x) {
    return l == 0 ? relu(conv1(block, x)) : conv2(block, x);
  }
  Var operator()(const Graph& graph, const Var& x) { return conv2(graph, relu(conv1(graph, x))); }
};

}  // namespace

TEST_CASE("every seed is in one batch of an epoch, with its own features and labels") {
  for (Device device : devices())
    for (bool sparse : {false, true}) {
      const Dataset data = small_citations(sparse).to(device);
      const NeighborLoader loader(data, data.train, few());
      const std::vector<NeighborBatch> all = batches(loader, 0);
      CHECK(std::ssize(all) == loader.size());
      CHECK(loader.num_seeds() == data.train.numel());
      std::vector<int32_t> seen = seeds_of(all), seeds = data.train.to_vector<int32_t>();
      CHECK(seen != seeds);
      std::sort(seen.begin(), seen.end());
      std::sort(seeds.begin(), seeds.end());
      CHECK(seen == seeds);
      for (const NeighborBatch& batch : all) {
        REQUIRE(batch.blocks.size() == 2);
        CHECK(same_bits(batch.blocks.back().dst_nodes().to(DType::i32), batch.seeds));
        CHECK(batch.blocks[0].num_dst() == batch.blocks[1].num_src());
        CHECK(has_rows(batch.x, data, batch.blocks[0].src_nodes()));
        CHECK(same_bits(batch.y.to(Device::cpu()),
                        detail::gather_edges(data.y.to(Device::cpu()), batch.seeds.to(Device::cpu()))));
      }
    }
}

TEST_CASE("an epoch has the same batches for all workers and threads, also after other epochs") {
  for (Device device : devices()) {
    const Dataset data = small_citations().to(device);
    const auto make = [&](int workers, uint64_t seed) {
      return NeighborLoader(data, every(data), few(workers, seed));
    };
    const auto expected = epoch_of_any_workers(make);
    CHECK(seeds_of(batches(make(0, 5), 2)) != seeds_of(expected));  // another order in each epoch
    CHECK(seeds_of(batches(make(0, 6), 3)) != seeds_of(expected));
    NeighborLoaderOptions options = few();
    options.loading.shuffle = false;
    const NeighborLoader in_order(data, every(data), options);
    CHECK(seeds_of(batches(in_order, 0)) == every(data).to_vector<int32_t>());
    CHECK_FALSE(same(batches(in_order, 0), batches(in_order, 1)));  // other samples
  }
}

TEST_CASE("labels of several columns, none, and seeds of 64 bits") {
  const Dataset data = small_citations();
  const Tensor y = random_tensor({300, 4});
  const Tensor seeds = ids({250, 3, 17});
  NeighborLoaderOptions options = few();
  options.loading.shuffle = false;
  const NeighborBatch batch = NeighborLoader(data.graph, data.x, y, seeds, options).batch(0, 0);
  CHECK(batch.y.shape() == Shape{3, 4});
  CHECK(same_bits(batch.y.rows(1, 2), y.rows(3, 4)));
  CHECK_FALSE(NeighborLoader(data.graph, data.x, {}, seeds, options).batch(0, 0).y);
}

TEST_CASE("stopping early, and errors of workers") {
  const Dataset data = small_citations();
  const Tensor none = Tensor::empty({0}, DType::i32);
  const Graph bare = Graph::from_coo(300, none, none);  // so that batches have only their seeds
  for (int workers : {0, 1, 3}) {
    int64_t taken = 0;
    for (const NeighborBatch& batch : NeighborLoader(data, every(data), few(workers)).epoch(1))
      if (batch.size() > 0 && ++taken == 2) break;
    CHECK(taken == 2);
    NeighborLoaderOptions options = few(workers);
    options.loading.shuffle = false;
    const NeighborLoader loader(bare, std::make_shared<BadStore>(300, 1, 100), {}, every(data), options);
    taken = 0;
    const auto iterate = [&] {
      for (const NeighborBatch& batch : loader.epoch(0)) taken += batch.size();
    };
    CHECK_ERROR(iterate(), "no features of node 100");
    CHECK(taken == 74);
  }
}

TEST_CASE("a user's feature store that returns too few rows") {
  const Dataset data = small_citations();
  for (int workers : {0, 2}) {
    const NeighborLoader loader(data.graph, std::make_shared<BadStore>(300, 2, -1), data.y, data.train,
                                few(workers));
    CHECK_ERROR_HAS((void)loader.epoch(0).next(), "neighbor loader: a feature store returned");
  }
}

TEST_CASE("errors of the neighbor loader") {
  const auto with = [](auto&& change) {
    NeighborLoaderOptions options = few();
    change(options);
    return options;
  };
  check_refused("neighbor", "seeds",
                [&](const Dataset& data, const Tensor& seeds, const LoaderOptions& options) {
                  return NeighborLoader(data, seeds, with([&](auto& o) { o.loading = options; }));
                });
  const Dataset data = small_citations();
  const auto refused = [&](const NeighborLoaderOptions& options, const char* part) {
    CHECK_ERROR_HAS(NeighborLoader(data, ids({1}), options), part);
  };
  refused(with([](auto& o) { o.loading.derive = [](const Graph&) {}; }), "derived from a graph");
  refused(with([](auto& o) { o.sampling.fanouts = {}; }), "fan-out");
  refused(with([](auto& o) { o.sampling.fanouts = {0}; }), "fan-out");
}

TEST_CASE("with all neighbours a step has the gradient of the whole graph") {
  for (Device device : devices()) {
    const Dataset data = small_citations().to(device);
    manual_seed(3);
    nn::Model<Sage> model(20, 3);
    model.to(device);
    cross_entropy(model(data.graph, Var(data.x.dense())), data.y, data.train).backward();
    const std::vector<Tensor> expected = take_gradients(model);
    NeighborLoaderOptions options = few(2);
    options.sampling.fanouts = {-1, -1};
    const NeighborLoader loader(data, data.train, options);
    for (const NeighborBatch& batch : loader.epoch(0)) {
      Var h(batch.x.dense());
      for (size_t l = 0; l < 2; ++l) h = model.layer(l, batch.blocks[l], h);
      const double share = static_cast<double>(batch.size()) / static_cast<double>(loader.num_seeds());
      (cross_entropy(h, batch.y) * share).backward();  // gradients add up
    }
    check_gradients_are(model, expected, 1e-4);
  }
}

TEST_CASE("layer-wise inference equals that of the whole graph") {
  const NoGrad no_grad;
  for (Device device : devices())
    for (bool sparse : {false, true}) {
      const Dataset data = small_citations(sparse).to(device);
      manual_seed(3);
      nn::Model<Sage> model(20, 3);
      model.to(device);
      const Tensor expected = model(data.graph, Var(data.x.to_dense())).value();
      const auto layer = [&](size_t l, const Block& block, const Features& x) {
        return model.layer(l, block, Var(x.to_dense())).value();
      };
      for (int64_t batch_size : {1, 64, 300, 1000})
        for (int workers : {0, 2}) {
          const LoaderOptions options{.batch_size = batch_size, .workers = workers};
          CHECK(close(infer_layer_wise(data.graph, data.x, 2, layer, options), expected, 1e-5));
        }
      CHECK_THROWS_AS(infer_layer_wise(data.graph, data.x, 0, layer), Error);
      CHECK_THROWS_AS(infer_layer_wise(data.graph, data.x, 1, layer, {.batch_size = -1}), Error);
      for (const LoaderOptions& other : {LoaderOptions{.shuffle = true}, {.drop_last = true}, {.steps = 1}})
        CHECK_THROWS_AS(infer_layer_wise(data.graph, data.x, 1, layer, other), Error);
      const auto wrong = [&](size_t, const Block& block, const Features&) {
        return Tensor::zeros({block.num_src() + 1, 2}, DType::f32, device);
      };
      CHECK_ERROR_HAS(infer_layer_wise(data.graph, data.x, 1, wrong, {.batch_size = 1}),
                      "for 1 targets, expected [1, width]");
      CHECK_ERROR(infer_layer_wise(data.graph, data.x, 1, LayerFunction()), "layer-wise inference: no layer");
      int64_t width = 1;
      const auto widening = [&](size_t, const Block& block, const Features&) {
        return Tensor::zeros({block.num_dst(), ++width}, DType::f32, device);
      };
      CHECK_ERROR_HAS(infer_layer_wise(data.graph, data.x, 1, widening, {.batch_size = 1}),
                      "expected [1, 2] float32");
    }
}
