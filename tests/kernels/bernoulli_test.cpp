#include "cases.h"
#include <adjoint/kernels/elementwise/dropout.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("bernoulli draws each number with its own probability, the same on every device and thread") {
  constexpr int64_t kEach = 20000;
  std::vector<float> p;
  for (const float one : {0.0f, 0.1f, 0.5f, 1.0f}) p.insert(p.end(), kEach, one);
  const auto draw = [&](Device device, uint64_t seed) {
    Generator generator(seed);
    const Tensor probability = Tensor::from(p, device);
    Tensor y = Tensor::empty({probability.numel()}, DType::u8, device);
    kernels::bernoulli({.p = probability, .key = generator.next(), .y = y});
    return y;
  };
  const Tensor first = draw({}, 3);
  CHECK(same_bits_on_any_threads([&] { return draw({}, 3); }));
  for (Device device : devices()) CHECK(same_bits(draw(device, 3).to(Device::cpu()), first));
  CHECK_FALSE(same_bits(draw({}, 4), first));
  const auto y = first.to_vector<uint8_t>();
  for (size_t k = 0; k < 4; ++k) {
    double sum = 0.0;
    for (size_t i = k * kEach; i < (k + 1) * kEach; ++i) sum += y[i];
    CHECK(sum / kEach == doctest::Approx(p[k * kEach]).epsilon(0.05));
  }
  Tensor wrong = Tensor::empty({3}, DType::u8);
  CHECK_THROWS_AS(kernels::bernoulli({.p = Tensor::full({2}, 0.5), .key = {}, .y = wrong}), Error);
}
