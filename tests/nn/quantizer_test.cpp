#include "../reference/plain.h"
#include "module_state.h"
#include <adjoint/kernels/bits/bit_gemm.h>
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/nn/quantizer.h>
#include <adjoint/ops.h>
#include <adjoint/optim/optimizer.h>

#include <cmath>
#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

std::vector<float> values_of_uniform(int64_t n) {
  Generator generator(3);
  return random_uniform({n}, -1.0, 1.0, generator).to_vector<float>();
}

struct Candidate {
  double scale;
  int k;
};

/// Of scales `largest` / `steps` 2^(-k / 8), the one with the least squared error of x.
Candidate best_candidate(const std::vector<float>& x, double largest, double steps, double zero) {
  double least = INFINITY;
  Candidate best{0.0, -1};
  for (int k = 0; k <= 64; ++k) {
    const double scale = largest * std::exp2(-k / 8.0) / steps;
    double error = 0.0;
    for (const float value : x) {
      const double q = std::clamp(std::nearbyint(value / scale + zero), 0.0, zero + steps);
      error += std::pow(scale * (q - zero) - value, 2);
    }
    if (error < least) least = error, best = {scale, k};
  }
  return best;
}

}  // namespace

TEST_CASE("a quantizer starts with the range of least error on its first batch, and keeps it") {
  for (Device device : devices())
    for (const int bits : {1, 2, 4, 8})
      for (const BitRange range : {BitRange::affine, BitRange::symmetric}) {
        CAPTURE(bits);
        nn::Model<nn::Quantizer> quantizer(nn::QuantizerOptions{.bits = bits, .range = range});
        quantizer.to(device);
        CHECK(quantizer.scale().item() == 0.0);
        const Tensor x = random_tensor({300, 9}, DType::f32, device);
        quantizer.eval();
        CHECK_ERROR_HAS(quantizer(Var(x)), "no scale yet");
        quantizer.train();
        const Tensor y = quantizer(Var(x)).value();
        const Tensor scale = quantizer.scale().clone(), zero = quantizer.zero().clone();
        CHECK(scale.item() > 0.0);
        if (range == BitRange::symmetric) CHECK(zero.item() == ((1 << bits) - 1) / 2.0);
        if (range == BitRange::affine) CHECK(zero.item() == std::nearbyint(zero.item()));
        CHECK(same_bits(y, to_values(to_bits(x, bits, scale, zero))));
        // No scale half or twice as large has a smaller error.
        for (const double factor : {0.5, 0.8, 1.25, 2.0}) {
          const Var other(Tensor::full({1}, factor * scale.item(), DType::f32, device));
          CHECK(squared_error(fake_quantize(Var(x), bits, other, zero).value(), x) >
                squared_error(y, x) * 0.999);
        }
        quantizer(Var(random_tensor({300, 9}, DType::f32, device)));
        const bool follows = range == BitRange::symmetric && bits > 2;
        if (!follows) CHECK(same_bits(quantizer.scale(), scale));
        CHECK(same_bits(quantizer.zero(), zero));
        // A symmetric range of more than two bits, for weights, grows with them.
        quantizer((Var(x) * 4.0));
        CHECK(quantizer.scale().item() ==
              doctest::Approx((follows ? 4.0 : 1.0) * scale.item()).epsilon(1e-6));
        quantizer(Var(x));
        quantizer.eval();
        CHECK(same_bits(quantizer(Var(x)).value(), y));
      }
}

TEST_CASE(
    "the range of least error is sought down to 2^-8 of the numbers' own, in eighths of a power of two") {
  // Zeros and ones with one outlier: in one bit, a scale of 1 leaves the outlier's error only.
  const struct {
    int64_t count;
    float outlier;
    int share;
  } cases[] = {{3000, 20.0f, 34}, {180'000, 256.0f, 64}, {60, 2.0f, 8}};
  for (const auto& c : cases) {
    std::vector<float> x(uz(c.count));
    for (size_t i = 1; i < x.size(); ++i) x[i] = static_cast<float>(i % 2);
    x[0] = c.outlier;
    const double expected = best_candidate(x, c.outlier, 1.0, 0.0).scale;
    CHECK(expected == doctest::Approx(c.outlier * std::exp2(-c.share / 8.0)));
    nn::Model<nn::Quantizer> quantizer(nn::QuantizerOptions{.bits = 1, .range = BitRange::affine});
    (void)quantizer(Var(Tensor::from(x, {c.count / 2, 2})));
    CHECK(quantizer.scale().item() == doctest::Approx(expected));
  }
}

TEST_CASE("an outlier is clamped where that has the least error, far below the full range") {
  constexpr int64_t kNumbers = 40000;
  std::vector<float> x = values_of_uniform(kNumbers);
  x[7] = 60.0f;
  const Candidate best = best_candidate(x, 60.0, 7.5, 7.5);
  CHECK(best.k > 32);
  CHECK(best.k < 64);
  const Tensor column = Tensor::from(x, {kNumbers, 1});
  nn::Model<nn::Quantizer> quantizer(nn::QuantizerOptions{.bits = 4, .range = BitRange::symmetric});
  quantizer(Var(column));
  CHECK(quantizer.scale().item() == doctest::Approx(best.scale).epsilon(1e-5));
}

TEST_CASE("each column starts and moves as a quantizer of it alone would") {
  constexpr int64_t kColumns = 3;
  for (Device device : devices())
    for (const nn::Scales scales : {nn::Scales::learned, nn::Scales::running})
      for (const auto& [bits, range] :
           {std::pair{4, BitRange::symmetric}, {2, BitRange::symmetric}, {5, BitRange::affine}}) {
        CAPTURES(static_cast<int>(scales), bits, static_cast<int>(range));
        const auto quantizer = [&](int64_t columns) {
          auto module = std::make_unique<nn::Model<nn::Quantizer>>(nn::QuantizerOptions{
              .bits = bits, .range = range, .scales = scales, .columns = columns, .momentum = 0.3});
          module->to(device);
          return module;
        };
        const auto all = quantizer(kColumns);
        std::vector<std::unique_ptr<nn::Model<nn::Quantizer>>> alone;
        for (int64_t c = 0; c < kColumns; ++c) alone.push_back(quantizer(0));
        const Tensor x = random_tensor({80, kColumns}, DType::f32, device);
        for (const double factor : {1.0, 3.0}) {  // of the second batch
          const Var batch = Var(x) * Var(Tensor::from<float>({1.0f, 20.0f, 0.1f}).to(device)) * factor;
          const Tensor y = (*all)(batch).value();
          for (int64_t c = 0; c < kColumns; ++c) {
            const auto& one = *alone[uz(c)];
            CHECK(close(narrow(Var(y), 1, c, 1).value(), one(narrow(batch, 1, c, 1)).value(), 1e-5));
            CHECK(values(all->scale())[uz(c)] == doctest::Approx(one.scale().item()).epsilon(1e-5));
            CHECK(values(all->zero())[uz(c)] == one.zero().item());
          }
        }
      }
}

TEST_CASE("of large matrices a quantizer starts with evenly spaced rows") {
  constexpr int64_t kRows = 40000, kWidth = 16;  // three times as many numbers as it looks at
  std::vector<float> x = random_tensor({kRows, kWidth}).to_vector<float>(), some;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < kWidth; ++c) {
      float& number = x[uz(r * kWidth + c)];
      if (r % 3 == 0) some.push_back(number);
      if (r % 3 != 0) number *= 100.0f;
    }
  some[5] = x[5] = INFINITY;  // left out
  nn::Model<nn::Quantizer> large(nn::QuantizerOptions{.bits = 4}), small(nn::QuantizerOptions{.bits = 4});
  large(Var(Tensor::from(x, {kRows, kWidth})));
  small(Var(Tensor::from(some, {std::ssize(some) / kWidth, kWidth})));
  CHECK(large.scale().item() == small.scale().item());
  CHECK(large.scale().item() < 1.0);
}

TEST_CASE("non-negative numbers have a zero of 0, and 32 bits do not quantise") {
  const Tensor x = relu(Var(random_tensor({50, 6}))).value();
  for (const nn::Scales scales : {nn::Scales::learned, nn::Scales::running}) {
    nn::Model<nn::Quantizer> quantizer(nn::QuantizerOptions{.bits = 3, .scales = scales});
    quantizer(Var(x));
    CHECK(quantizer.zero().item() == 0.0);
  }
  for (const int bits : {0, 32}) {
    nn::Model<nn::Quantizer> none(nn::QuantizerOptions{.bits = bits});
    CHECK(none.state().empty());
    none.eval();
    CHECK(same_bits(none(Var(x)).value(), x));
  }
  for (const int bits : {-1, 9, 16, 33})
    CHECK_THROWS_AS(nn::Model<nn::Quantizer>(nn::QuantizerOptions{.bits = bits}), Error);
  const auto refused = [](const nn::QuantizerOptions& options, const char* part) {
    CHECK_ERROR_HAS(nn::Model<nn::Quantizer>{options}, part);
  };
  for (const double momentum : {0.0, -0.1, 1.1})
    refused({.momentum = momentum}, "expected a momentum in (0, 1]");
  (void)nn::Model<nn::Quantizer>(nn::QuantizerOptions{.momentum = 1.0});
  refused({.columns = -1}, "expected 0 or more columns");
  nn::Model<nn::Quantizer> two(nn::QuantizerOptions{.columns = 2});
  CHECK_ERROR_HAS(two(Var(x)), "[50, 6], expected a matrix of 2 columns");
  nn::Model<nn::Quantizer> any(nn::QuantizerOptions{});
  CHECK_ERROR_HAS(any(Var(x.reshape({300}))), "[300], expected a matrix");
}

TEST_CASE("a learned scale follows its gradient and stays positive; evaluation uses the last one") {
  for (Device device : devices()) {
    nn::Model<nn::Quantizer> quantizer(nn::QuantizerOptions{.bits = 2, .columns = 5});
    quantizer.to(device);
    optim::Adam adam(quantizer.parameters(), {.lr = 0.5});
    const Tensor x = random_tensor({40, 5}, DType::f32, device);
    for (int step = 0; step < 50; ++step) {
      const Var y = quantizer(Var(x));
      CHECK(close(quantizer.scale(), values(exp(quantizer.parameters().front()).value()), 1e-6));
      sum(y * y).backward();  // least with a scale of 0
      adam.step();
    }
    for (const double scale : values(quantizer.scale())) CHECK(scale > 0.0);
    const Tensor scale = quantizer.scale().clone();
    quantizer.eval();
    CHECK(same_bits(
        quantizer(Var(x)).value(),
        to_values(to_bits(x, 2, scale, quantizer.zero(), PackedAlong::columns), PackedAlong::columns)));
    CHECK(same_bits(quantizer.scale(), scale));
  }
}

TEST_CASE("the gradient of log_scale is the gradient of the scale times the scale") {
  nn::Model<nn::Quantizer> quantizer(nn::QuantizerOptions{.bits = 3, .columns = 4});
  const Tensor x = random_tensor({30, 4}), dy = random_tensor({30, 4});
  sum(quantizer(Var(x)) * Var(dy)).backward();
  Var scale = Var::parameter(quantizer.scale().clone());
  sum(fake_quantize(Var(x), 3, scale, quantizer.zero(),
                    {.along = PackedAlong::columns, .gradient_scale = lsq_gradient_scale(30, 3)}) *
      Var(dy))
      .backward();
  CHECK(close_to_scale(quantizer.parameters().front().grad(), (scale * scale.grad()).value(), 1e-5));
}

TEST_CASE("running scales are a moving mean of the batches' ranges") {
  for (Device device : devices()) {
    nn::Model<nn::Quantizer> quantizer(
        nn::QuantizerOptions{.bits = 4, .scales = nn::Scales::running, .momentum = 0.25});
    quantizer.to(device);
    CHECK(quantizer.parameters().empty());
    double scale = 0.0, zero = 0.0;
    for (int step = 0; step < 4; ++step) {
      const Tensor x = (Var(random_tensor({60, 7}, DType::f32, device)) * (1.0 + step)).value();
      const BitTensor bit_tensor = to_bits(x, 4);
      scale = step == 0 ? bit_tensor.scale.item() : 0.75 * scale + 0.25 * bit_tensor.scale.item();
      zero = step == 0 ? bit_tensor.zero.item() : 0.75 * zero + 0.25 * bit_tensor.zero.item();
      const Tensor y = quantizer(Var(x)).value();
      CHECK(quantizer.scale().item() == doctest::Approx(scale).epsilon(1e-5));
      CHECK(quantizer.zero().item() == std::nearbyint(zero));
      CHECK(same_bits(y, to_values(to_bits(x, 4, quantizer.scale(), quantizer.zero()))));
    }
  }
}

TEST_CASE_FIXTURE(
    InFolder, "a quantizer's state is restored from a checkpoint, and training continues with its scale") {
  const std::string path = folder.file("c.h5");
  for (const nn::Scales scales : {nn::Scales::learned, nn::Scales::running}) {
    const nn::QuantLinearOptions options{.weight_bits = 2, .input_bits = 5, .scales = scales};
    nn::Model<nn::QuantLinear> layer(6, 3, options), other(6, 3, options), fresh(6, 3, options);
    const Tensor x = random_tensor({20, 6}), far = (100.0 * Var(x)).value();
    layer(Var(x));
    models::save_model(layer, path);
    models::load_model(other, path);
    CHECK(equal(copied(other), copied(layer)));
    layer.eval();
    other.eval();
    CHECK(same_bits(layer(Var(x)).value(), other(Var(x)).value()));
    other.train();
    other(Var(far));
    if (scales == nn::Scales::learned) CHECK(same_bits(other.input.scale(), layer.input.scale()));
    // After loading a state without a scale it initialises again.
    other.load_state(copied(fresh));
    other.eval();
    CHECK_THROWS_AS(other(Var(x)), Error);
    other.train();
    other(Var(far));
    CHECK(other.input.scale().item() > 10.0 * layer.input.scale().item());
  }
  std::vector<std::string> names;
  nn::Model<nn::QuantLinear> layer(6, 3);
  for (const auto& [name, tensor] : layer.state()) names.push_back(name + " " + tensor.shape().str());
  CHECK(names == std::vector<std::string>{"weight [6, 3]", "bias [3]", "input.log_scale [1]",
                                          "input.scale [1]", "input.zero [1]", "weights.log_scale [3]",
                                          "weights.scale [3]", "weights.zero [3]"});
}

TEST_CASE("a quantised linear layer is bit_gemm's product of the same bits") {
  for (Device device : devices())
    for (const auto& [weight_bits, input_bits] :
         {std::pair{1, 1}, std::pair{2, 4}, std::pair{8, 8}, std::pair{3, 7}}) {
      CAPTURES(weight_bits, input_bits);
      nn::Model<nn::QuantLinear> layer(
          37, 11, nn::QuantLinearOptions{.weight_bits = weight_bits, .input_bits = input_bits});
      layer.to(device);
      layer.bias.set_value(random_tensor({11}, DType::f32, device));
      const Tensor x = random_tensor({53, 37}, DType::f32, device);
      layer(Var(x));
      layer.eval();
      const BitTensor a = to_bits(x, input_bits, layer.input.scale(), layer.input.zero()),
                      b = to_bits(layer.weight.value(), weight_bits, layer.weights.scale(),
                                  layer.weights.zero(), PackedAlong::columns);
      Tensor y = Tensor::empty({53, 11}, DType::f32, device);
      kernels::bit_gemm({.a = a, .b = b, .y = y});
      CHECK(close_to_scale(layer(Var(x)).value(), (Var(y) + layer.bias).value(), 1e-6));
    }
}

TEST_CASE("gradients of a quantised linear layer reach weights, bias, scales and the input") {
  nn::Model<nn::QuantLinear> layer(6, 4, nn::QuantLinearOptions{.activation = Activation::relu});
  const Var x = Var::parameter(random_tensor({20, 6}));
  sum(layer(x)).backward();
  CHECK(static_cast<bool>(x.grad()));
  for (const auto& [name, parameter] : layer.named_parameters()) {
    CAPTURE(name);
    REQUIRE(static_cast<bool>(parameter.grad()));
    CHECK(squared_error(parameter.grad(), Tensor::zeros_like(parameter.grad())) > 0.0);
  }
}
