#include "../reference/plain.h"
#include <adjoint/nn/linear.h>
#include <adjoint/nn/mlp.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("Linear equals a dense computation, for dense and sparse features") {
  for (Device device : devices())
    for (bool has_bias : {true, false})
      for (Activation activation : {Activation::none, Activation::relu}) {
        Draw draw(220, device, DType::f32);
        nn::Model<nn::Linear> layer(6, 4, {.bias = has_bias, .activation = activation});
        layer.to(device);
        if (has_bias) layer.bias.set_value(draw.normal({4}));
        const SparseMatrix x = draw.sparse(15, 6, 40);
        Dense expected =
            linear_of(dense_of(x), layer.weight.value(), has_bias ? layer.bias.value() : Tensor());
        if (activation == Activation::relu) expected = mapped(expected, relu_of);
        CHECK(close(layer(x).value(), expected.data, 1e-5));
        CHECK(close(layer(x.to_dense()).value(), expected.data, 1e-5));
        CHECK(static_cast<bool>(layer.bias) == has_bias);
      }
}

TEST_CASE("an MLP is linear layers with relu between them") {
  on_devices(221, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::MLP> mlp({5, 8, 6, 3}, {.dropout = 0.5f});
    mlp.to(device);
    CHECK(mlp.num_parameters() == 5 * 8 + 8 + 8 * 6 + 6 + 6 * 3 + 3);
    const auto parameters = mlp.named_parameters();
    REQUIRE(parameters.size() == 6);
    CHECK(parameters[0].first == "lins.0.weight");
    CHECK(parameters[5].first == "lins.2.bias");
    const SparseMatrix x = draw.sparse(11, 5, 30);
    Dense expected = dense_of(x);
    for (size_t i = 0; i < 3; ++i) {
      expected = linear_of(expected, parameters[2 * i].second.value(), parameters[2 * i + 1].second.value());
      if (i < 2) expected = mapped(expected, relu_of);
    }
    mlp.eval();
    CHECK(close(mlp(x).value(), expected.data, 1e-5));
    CHECK(close(mlp(x.to_dense()).value(), expected.data, 1e-5));
  });
  CHECK_THROWS_AS(nn::Model<nn::MLP>({5}), Error);
  CHECK_THROWS_AS(nn::Model<nn::MLP>({5, 3}, nn::MLPOptions{.dropout = 1.0f}), Error);
}

TEST_CASE("an MLP has dropout before each layer: on the input, and not on the output") {
  on_devices(226, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::MLP> mlp({5, 8, 6, 3}, {.dropout = 0.5f});
    mlp.to(device);
    std::vector<Var> p;
    for (const auto& [name, parameter] : mlp.named_parameters()) p.push_back(parameter);
    const Tensor dense = draw.normal({40, 5});
    const SparseMatrix sparse = draw.sparse(40, 5, 90);
    const auto expected = [&](const auto& input) {
      manual_seed(4);
      Var y = linear(dropout(input, 0.5f), p[0], p[1], Activation::relu);
      y = linear(dropout(y, 0.5f), p[2], p[3], Activation::relu);
      return linear(dropout(y, 0.5f), p[4], p[5]).value();
    };
    const auto found = [&](const auto& input) {
      manual_seed(4);
      return mlp(input).value();
    };
    CHECK(same_bits(found(Var(dense)), expected(Var(dense))));
    CHECK_FALSE(same_bits(mlp(Var(dense)).value(), found(Var(dense))));
    CHECK(same_bits(found(Features(sparse)), expected(Features(sparse))));
  });
}

TEST_CASE("BatchNorm keeps running statistics, and uses them in evaluation mode") {
  on_devices(222, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::BatchNorm> norm(3, {.momentum = 0.25});
    norm.to(device);
    double mean = 0.0, variance = 1.0;
    for (int step = 0; step < 6; ++step) {
      const Tensor x = draw.uniform({50, 3}, 1.0, 5.0);
      const Dense d(x);
      double m = 0.0, v = 0.0;
      for (int64_t i = 0; i < 50; ++i) m += d(i, 1) / 50.0;
      for (int64_t i = 0; i < 50; ++i) v += std::pow(d(i, 1) - m, 2) / 49.0;
      mean += 0.25 * (m - mean);
      variance += 0.25 * (v - variance);
      norm(x);
    }
    CHECK(values(norm.running_mean)[1] == doctest::Approx(mean).epsilon(1e-5));
    CHECK(values(norm.running_var)[1] == doctest::Approx(variance).epsilon(1e-5));
    norm.eval();
    const Tensor one = draw.normal({1, 3}), before = norm.running_mean.clone();
    const double expected = (values(one)[1] - mean) / std::sqrt(variance + 1e-5);
    CHECK(values(norm(one).value())[1] == doctest::Approx(expected).epsilon(1e-4));
    CHECK(same_bits(norm.running_mean, before));
  });
}

TEST_CASE("BatchNorm's epilogue draws dropout in training mode only") {
  on_devices(223, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::BatchNorm> norm(8);
    norm.to(device);
    const Tensor x = draw.normal({100, 8});
    const NormEpilogue epilogue{Activation::relu, 0.5f};
    const auto zeros = [](const Tensor& y) {
      const auto all = values(y);
      return std::count(all.begin(), all.end(), 0.0);
    };
    CHECK(zeros(norm(x, epilogue).value()) > 500);
    norm.eval();
    CHECK(zeros(norm(x, epilogue).value()) < 500);
  });
}

TEST_CASE("LayerNorm initially normalises each row") {
  on_devices(224, DType::f32, [&](Draw& draw, Device device) {
    nn::Model<nn::LayerNorm> norm(40);
    norm.to(device);
    const Dense y(norm(draw.uniform({7, 40}, 3.0, 9.0)).value());
    for (int64_t i = 0; i < 7; ++i) {
      double m = 0.0, v = 0.0;
      for (int64_t j = 0; j < 40; ++j) m += y(i, j) / 40.0;
      for (int64_t j = 0; j < 40; ++j) v += y(i, j) * y(i, j) / 40.0;
      CHECK(std::abs(m) < 1e-5);
      CHECK(v == doctest::Approx(1.0).epsilon(1e-4));
    }
  });
}
