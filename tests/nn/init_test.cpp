#include "../support.h"
#include <adjoint/nn/init.h>
#include <adjoint/nn/linear.h>

#include <algorithm>
#include <cmath>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

struct Statistics {
  double mean = 0.0, deviation = 0.0, largest = 0.0, kurtosis = 0.0;
};

Statistics statistics(const Tensor& x) {
  Statistics s;
  const auto all = values(x);
  const auto n = static_cast<double>(all.size());
  double fourth = 0.0, second = 0.0;
  for (double v : all) s.mean += v / n;
  for (double v : all) {
    s.largest = std::max(s.largest, std::abs(v));
    second += std::pow(v - s.mean, 2) / n;
    fourth += std::pow(v - s.mean, 4) / n;
  }
  s.deviation = std::sqrt(second);
  s.kurtosis = fourth / (second * second);
  return s;
}

}  // namespace

TEST_CASE("uniform initialisers have their bounds and the moments of a uniform distribution") {
  Generator generator(230);
  const auto holds = [](const Tensor& w, double bound) {
    CHECK(w.dtype() == DType::f32);
    CHECK(w.shape() == Shape{300, 200});
    const Statistics s = statistics(w);
    CHECK(s.largest <= bound * (1.0 + 1e-7));  // rounded to float32
    CHECK(s.largest > 0.999 * bound);
    CHECK(std::abs(s.mean) < 0.01 * bound);
    CHECK(s.deviation == doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.01));
    CHECK(s.kurtosis == doctest::Approx(1.8).epsilon(0.02));
  };
  holds(nn::glorot_uniform(300, 200, generator), std::sqrt(6.0 / 500.0));
  holds(nn::kaiming_uniform(300, 200, generator), std::sqrt(6.0 / 300.0));
  holds(nn::fan_in_uniform(300, 200, generator), std::sqrt(1.0 / 300.0));
}

TEST_CASE("normal initialisers have their deviation and the kurtosis of a normal distribution") {
  Generator generator(231);
  const auto holds = [](const Tensor& w, double deviation) {
    CHECK(w.shape() == Shape{300, 200});
    const Statistics s = statistics(w);
    CHECK(std::abs(s.mean) < 0.02 * deviation);
    CHECK(s.deviation == doctest::Approx(deviation).epsilon(0.01));
    CHECK(s.kurtosis == doctest::Approx(3.0).epsilon(0.05));
  };
  holds(nn::glorot_normal(300, 200, generator), std::sqrt(2.0 / 500.0));
  holds(nn::kaiming_normal(300, 200, generator), std::sqrt(2.0 / 300.0));
}

TEST_CASE("initialisers draw the same numbers in every dtype, rounded") {
  const auto holds = [](auto initialise) {
    const auto draw = [&](DType dtype) {
      Generator generator(232);
      const Tensor w = initialise(40, 30, generator, dtype);
      CHECK(w.dtype() == dtype);
      CHECK(w.shape() == Shape{40, 30});
      CHECK(generator.position() == 1);
      return w;
    };
    const Tensor exact = draw(DType::f64);
    CHECK(same_bits(draw(DType::f32), exact.to(DType::f32)));
    const std::vector<float> drawn = draw(DType::bf16).to(DType::f32).template to_vector<float>();
    const std::vector<float> rounded =
        draw(DType::f32).to(DType::bf16).to(DType::f32).template to_vector<float>();
    const float most = *std::max_element(drawn.begin(), drawn.end());
    for (size_t i = 0; i < drawn.size(); ++i)  // a number rounded to the upper bound becomes the one below
      CHECK((drawn[i] == rounded[i] || (drawn[i] == most && drawn[i] < rounded[i])));
    CHECK_FALSE(same_bits(exact, draw(DType::f32).to(DType::f64)));
  };
  holds(nn::glorot_uniform);
  holds(nn::glorot_normal);
  holds(nn::kaiming_uniform);
  holds(nn::kaiming_normal);
  Generator generator;
  CHECK_THROWS_AS(nn::glorot_uniform(2, 2, generator, DType::i32), Error);
}

TEST_CASE("the same seed gives the same weights, and each layer draws its own") {
  manual_seed(7);
  const nn::Model<nn::Linear> first(20, 30), second(20, 30);
  manual_seed(7);
  const nn::Model<nn::Linear> again(20, 30);
  CHECK(same_bits(first.weight.value(), again.weight.value()));
  CHECK_FALSE(same_bits(first.weight.value(), second.weight.value()));
}

TEST_CASE("within NoInit a module takes shapes, but neither random numbers nor values") {
  manual_seed(9);
  const nn::Model<nn::Linear> drawn(20, 30);
  manual_seed(9);
  {
    const nn::NoInit no_init(20 * 30 + 30);
    const nn::Model<nn::Linear> bare(20, 30);
    CHECK(bare.weight.shape() == Shape{20, 30});
    CHECK(bare.bias.shape() == Shape{30});
    CHECK_THROWS_WITH_AS(nn::constant({1}, 0.0), doctest::Contains("[1]"), Error);
    CHECK_THROWS_AS(nn::NoInit(), Error);
    std::thread([] { CHECK(values(nn::constant({2}, 3.0)) == std::vector<double>{3.0, 3.0}); }).join();
  }
  CHECK(default_generator().position() == 0);
  const nn::Model<nn::Linear> after(20, 30);
  CHECK(same_bits(after.weight.value(), drawn.weight.value()));
  {
    const nn::NoInit no_init(int64_t{1} << 40);
    CHECK_THROWS_AS(nn::glorot_uniform(int64_t{1} << 31, int64_t{1} << 33), Error);  // 2^64
  }
}
