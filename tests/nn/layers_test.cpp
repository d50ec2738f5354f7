#include "../reference/plain.h"
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("an MLP is linear layers with relu between them, with dropout before each when it trains") {
  on_devices(226, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::MLP> mlp({5, 8, 6, 3}, {.dropout = 0.5f});
    mlp.to(device);
    CHECK(mlp.num_parameters() == 5 * 8 + 8 + 8 * 6 + 6 + 6 * 3 + 3);
    std::vector<Var> p;
    for (const auto& [name, parameter] : mlp.named_parameters()) {
      CHECK(name == fmt::format("lins.{}.{}", p.size() / 2, p.size() % 2 == 0 ? "weight" : "bias"));
      p.push_back(parameter);
    }
    REQUIRE(p.size() == 6);
    const Tensor dense = draw.normal({40, 5});
    const SparseMatrix sparse = draw.sparse(40, 5, 90);
    for (const bool training : {true, false}) {
      mlp.train(training);
      const auto holds = [&](const auto& input) {
        manual_seed(4);
        Var y = linear(dropout(input, 0.5f, training), p[0], p[1], Activation::relu);
        y = linear(dropout(y, 0.5f, training), p[2], p[3], Activation::relu);
        y = linear(dropout(y, 0.5f, training), p[4], p[5]);
        manual_seed(4);
        CHECK(same_bits(mlp(input).value(), y.value()));
        CHECK(same_bits(mlp(input).value(), y.value()) != training);
      };
      holds(Var(dense));
      holds(Features(sparse));
    }
  });
  CHECK_THROWS_AS(nn::Model<nn::MLP>({5}), Error);
  CHECK_THROWS_AS(nn::Model<nn::MLP>({5, 3}, nn::MLPOptions{.dropout = 1.0f}), Error);
}

TEST_CASE(
    "BatchNorm and LayerNorm are the ops with factors of 1 and shifts of 0, and BatchNorm's statistics") {
  on_devices(222, DType::f32, [&](Draw& draw, Device device) {
    const auto full = [&](double value) { return Tensor::full({3}, value, DType::f32, device); };
    nn::Model<nn::BatchNorm> batch(3, {.momentum = 0.25});
    nn::Model<nn::LayerNorm> layer(3);
    batch.to(device), layer.to(device);
    RunningStatistics running{full(0.0), full(1.0), 0.25};
    for (int step = 0; step < 6; ++step) {
      batch.train(step < 4);
      const Tensor x = draw.uniform({50, 3}, 1.0, 5.0);
      CHECK(same_bits(batch(x).value(), batch_norm(x, full(1.0), full(0.0), running, step < 4).value()));
      CHECK(same_bits(batch.running_mean, running.mean));
      CHECK(same_bits(batch.running_var, running.variance));
      CHECK(same_bits(layer(x).value(), layer_norm(x, full(1.0), full(0.0)).value()));
    }
  });
}
