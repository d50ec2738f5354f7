#include "../data/subgraph_batches.h"
#include "edges.h"
#include <adjoint/core/capture.h>
#include <adjoint/graph/padded_blocks.h>
#include <adjoint/models/family.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/optimizer.h>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using L = std::vector<int64_t>;

std::vector<Block> sampled(const Graph& graph, const I& seeds, uint64_t seed, const L& fanouts = {4, 3}) {
  return NeighborSampler(graph, {.fanouts = fanouts}).sample(ints(seeds, graph.device()), seed);
}

BlockSizes enlarged(BlockSizes sizes, int64_t nodes, int64_t edges) {
  for (int64_t& count : sizes.nodes) count += nodes;
  for (int64_t& count : sizes.edges) count += edges;
  return sizes;
}

/// What a step of training needs: an output of the first `rows` rows, and gradients.
struct Pass {
  Tensor out;
  std::map<std::string, Tensor> gradients;

  Pass(const models::NodeModel& model, std::span<const Block> blocks, const Tensor& x, const Tensor& y) {
    const Features rows(detail::gather_edges(x, blocks.front().src_nodes()));
    const Var all = model(blocks, rows);
    const Tensor index = ints(numbers(y.numel()), x.device());
    out = all.value().rows(0, y.numel());
    Tensor labels = Tensor::zeros({all.size(0)}, DType::i32, x.device());
    Tensor front = labels.rows(0, y.numel());
    front.copy_(y);
    cross_entropy(all, labels, index).backward();
    for (auto [name, parameter] : model.named_parameters()) {
      gradients[name] = parameter.grad() ? parameter.grad().clone() : Tensor();
      parameter.zero_grad();
    }
  }
};

}  // namespace

TEST_CASE("padded blocks are those of a batch with a small graph beside it") {
  for (Device device : devices()) {
    const Relation relation =
        Relation::from_csr({2, 4, longs({0, 2, 3}, device), ints({3, 0, 2}, device)}, false);
    const Block block = Block(relation, ints({70, 10, 30, 90}, device))
                            .with_edge_data(Tensor::from(std::vector<float>{5, 6, 8}).to(device), {});
    PaddedBlocks storage({.nodes = {7, 4}, .edges = {8}}, std::array{block}, device);
    REQUIRE(storage.fill(std::array{block}));
    const Block padded = storage.blocks().front();
    CHECK(padded.src_nodes().to_vector<int32_t>() == I{70, 10, 30, 90, 0, 0, 0});
    // Five edges from three further sources to two further targets.
    CHECK(padded.relation().csr().offsets.to_vector<int64_t>() == L{0, 2, 3, 6, 8});
    CHECK(padded.relation().csr().indices.to_vector<int32_t>() == I{3, 0, 2, 4, 4, 5, 5, 6});
    CHECK(padded.edge_weight().to_vector<float>() == std::vector<float>{5, 6, 8, 1, 1, 1, 1, 1});
    CHECK(padded.relation().transposed().offsets.to_vector<int64_t>() == L{0, 1, 1, 2, 3, 5, 7, 8});
    CHECK(padded.relation().transposed().indices.to_vector<int32_t>() == I{0, 1, 0, 2, 2, 2, 3, 3});
    CHECK(padded.relation().transposed_order().to_vector<int32_t>() == I{1, 2, 0, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("the transposes of padded blocks are those of their rows, for any sizes") {
  for (Device device : devices())
    for (int64_t round = 0; round < 30; ++round) {
      CAPTURE(round);
      const Graph graph = random_graph(80, 300, device);
      const std::vector<Block> blocks =
          sampled(graph, {3, 1, static_cast<int32_t>(10 + round)}, static_cast<uint64_t>(round));
      PaddedBlocks storage(enlarged(BlockSizes::count(blocks), 1 + round % 7, round * round % 50), blocks,
                           device, uz(round % 2));
      for (int again = 0; again < 2; ++again) {
        REQUIRE(storage.fill(blocks));
        for (const Block& padded : storage.blocks()) {
          const Csr& rows = padded.relation().csr();
          CHECK(rows.offsets.to_vector<int64_t>().back() == rows.entries());
          const Relation same = Relation::from_csr({rows.rows, rows.cols, rows.offsets, rows.indices}, false);
          CHECK(same_bits(padded.relation().transposed().offsets, same.transposed().offsets));
          CHECK(same_bits(padded.relation().transposed().indices, same.transposed().indices));
          CHECK(same_bits(padded.relation().transposed_order(), same.transposed_order()));
        }
      }
    }
}

TEST_CASE("a batch that does not fit is refused and leaves the storage as it is") {
  const Graph graph = random_graph(60, 400);
  const std::vector<Block> blocks = sampled(graph, {1, 2, 3}, 1), other = sampled(graph, {5, 6, 7, 8, 9}, 2);
  const BlockSizes exact = BlockSizes::count(blocks);
  const auto fits = [&](const BlockSizes& sizes) {
    return PaddedBlocks(sizes, blocks, Device()).fill(blocks);
  };
  CHECK(fits(exact));
  CHECK(fits(enlarged(exact, 1, 0)));
  CHECK(fits(enlarged(exact, 1, 9)));
  CHECK_FALSE(fits(enlarged(exact, 0, 1)));  // nowhere for the further edge
  CHECK_FALSE(fits(enlarged(exact, 5, -1)));
  CHECK_FALSE(fits(enlarged(exact, -1, 5)));
  PaddedBlocks storage(enlarged(exact, 2, 2), blocks, Device());
  REQUIRE(storage.fill(blocks));
  const std::vector<int32_t> before = storage.blocks()[0].relation().csr().indices.to_vector<int32_t>();
  CHECK_FALSE(storage.fill(other));
  CHECK_FALSE(storage.fill(std::span(blocks).first(1)));
  CHECK_FALSE(storage.fill(sampled(random_graph(60, 400, {}, Tensor::full({400}, 1.0, DType::f32)), {1}, 1)));
  CHECK(storage.blocks()[0].relation().csr().indices.to_vector<int32_t>() == before);
  CHECK_ERROR_HAS(PaddedBlocks({.nodes = {3, 9, 2}, .edges = {1, 1}}, blocks, Device()), "no more targets");
  CHECK_ERROR_HAS(PaddedBlocks({.nodes = {3, 2}, .edges = {1}}, blocks, Device()), "for 2 blocks");
}

TEST_CASE("models give a padded batch the outputs and gradients of the batch itself") {
  on_devices(412, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(90, 600);
    const Tensor x = draw.normal({90, 6}), y = draw.ints(5, 0, 3);
    const std::vector<Block> blocks = sampled(graph, {4, 50, 7, 33, 20}, 3, {5, 4, 3});
    models::ModelOptions options;
    options.layers = 3;
    options.hidden = 8;
    options.dropout = 0.0;
    const auto check = [&](const models::ModelFamily& family, const char* name) {
      options.model = name;
      const auto model = family.make_as<models::NodeModel>(6, 3, options);
      CAPTURE(model->describe());
      CHECK(model->takes_padded_blocks() == !options.model.starts_with("gat"));  // equal all the same
      model->to(device);
      PaddedBlocks storage(enlarged(BlockSizes::count(blocks), 11, 37), blocks, device,
                           model->first_transposed());
      REQUIRE(storage.fill(blocks));
      const Pass plain(*model, blocks, x, y), padded(*model, storage.blocks(), x, y);
      CHECK(close(padded.out, plain.out, 1e-5));
      for (const auto& [parameter, gradient] : plain.gradients) {
        CAPTURE(parameter);
        CHECK(static_cast<bool>(gradient) == static_cast<bool>(padded.gradients.at(parameter)));
        if (gradient) CHECK(close(padded.gradients.at(parameter), gradient, 1e-5));
      }
    };
    for (const models::Norm norm : {models::Norm::none, models::Norm::layer}) {
      options.norm = norm;
      for (const models::SageAggregation aggr :
           {models::SageAggregation::mean, models::SageAggregation::max, models::SageAggregation::pool}) {
        options.aggr = aggr;
        check(models::sage(), "sage");
      }
      check(models::gin(), "gin");
      options.heads = 2;
      check(models::gat(), "gat");
      check(models::gat(), "gatv2");
      check(models::transformer(), "transformer");
      options.heads = 1;
    }
    for (const auto& [family, norm] : {std::pair{models::gcn(), models::Norm::none},
                                       {models::sage(), models::Norm::batch},
                                       {models::gin(), models::Norm::batch}}) {
      options.model = family.models.front();
      options.norm = norm;
      CHECK_FALSE(family.make_as<models::NodeModel>(6, 3, options)->takes_padded_blocks());
    }
  });
}

TEST_CASE("a captured step over one padded batch after another trains as one that is not captured") {
  for (Device device : devices()) {
    const Dataset data = small_citations().to(device);
    const NeighborLoader loader(data, every(data.num_nodes(), device),
                                {.sampling = {.fanouts = {4, 3}},
                                 .loading = {.batch_size = 16, .shuffle = true, .seed = 5},
                                 .first_transposed = 1,
                                 .features = false,
                                 .plans = false});
    const std::vector<NeighborBatch> all = batches(loader, 0);
    BlockSizes most = BlockSizes::count(all.front().blocks);
    for (const NeighborBatch& batch : all) {
      const BlockSizes sizes = BlockSizes::count(batch.blocks);
      for (size_t l = 0; l < sizes.nodes.size(); ++l) most.nodes[l] = std::max(most.nodes[l], sizes.nodes[l]);
      for (size_t l = 0; l < sizes.edges.size(); ++l) most.edges[l] = std::max(most.edges[l], sizes.edges[l]);
    }
    models::ModelOptions options;
    options.hidden = 8;
    for (const auto& family : {models::sage(), models::gin(), models::transformer()}) {
      options.model = family.models.front();
      CAPTURE(family.program);
      const auto train = [&](bool capture) {
        manual_seed(3);
        const auto model = family.make_as<models::NodeModel>(data.x.cols(), 4, options);
        model->to(device);
        optim::Adam adam(model->parameters(), {.lr = 0.01});
        PaddedBlocks storage(enlarged(most, 3, 5), all.front().blocks, device, model->first_transposed());
        std::vector<Block> blocks;
        const Tensor y = Tensor::zeros({storage.sizes().nodes.back()}, DType::i32, device);
        const Tensor index = ints(numbers(16), device);
        optim::CapturedStep step(
            [&] {
              const Var loss = cross_entropy(
                  (*model)(blocks,
                           Features(detail::gather_edges(data.x.dense(), blocks.front().src_nodes()))),
                  y, index);
              loss.backward();
              adam.step();
              return loss;
            },
            {.capture = capture, .derives = true});
        std::vector<double> losses;
        for (const NeighborBatch& batch : all) {
          if (batch.size() < 16) continue;
          REQUIRE(storage.fill(batch.blocks));
          Tensor labels = y.rows(0, 16);
          labels.copy_(batch.y);
          blocks = storage.blocks();
          losses.push_back(step().item());
          CHECK((step.captured() || losses.size() < 3 || !capture || device.is_cpu()));
          if (losses.size() % 5 == 0) losses.push_back(step.run().item());  // between replays
        }
        for (const Var& parameter : model->parameters())
          for (const double number : values(parameter.value())) losses.push_back(number);
        return losses;
      };
      CHECK(train(true) == train(false));
    }
  }
}
