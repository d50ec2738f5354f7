#include <adjoint/core/parallel.h>
#include <adjoint/core/random.h>

#include <cmath>
#include <numbers>

namespace adj {

DropoutRule DropoutRule::of(float p) {
  ADJ_CHECK(p >= 0.0f && p < 1.0f, "dropout: expected a probability in [0, 1), got {}", p);
  // At most 65535 / 65536: something must be left to scale up.
  const auto threshold = static_cast<uint32_t>(std::min(std::lround(p * 65536.0f), 65535l));
  return {threshold, 65536.0f / static_cast<float>(65536u - threshold)};
}

void Generator::set_state(uint64_t seed, uint64_t position) {
  ADJ_CHECK(!capturing(), "generator: its state cannot be set while a step is being captured");
  seed_ = seed;
  next_ = position;
}

RandomKey Generator::next() {
  const uint64_t stream = next_++;
  return capturing() ? RandomKey{seed_, stream - capture_start_, base_} : RandomKey{seed_, stream, nullptr};
}

void Generator::begin_capture(const uint64_t* device_base) {
  ADJ_CHECK(!capturing() && device_base != nullptr, "generator: a step is being captured already");
  capture_start_ = next_;
  base_ = device_base;
}

uint64_t Generator::end_capture() {
  const uint64_t used = next_ - capture_start_;
  next_ = capture_start_;
  base_ = nullptr;
  return used;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void manual_seed(uint64_t seed) { default_generator().set_state(seed, 0); }

namespace {

constexpr int64_t kGrain = 1 << 14;

// f maps a block of four words and a lane to element `4 * block + lane`.
template <class F>
Tensor draw(Shape shape, Generator& generator, DType dtype, Device device, F&& f) {
  Tensor host = Tensor::empty(shape, dtype);
  const RandomKey key = generator.next();
  dispatch_float(dtype, "random", [&]<class T>() {
    T* out = host.mutable_data<T>();
    const int64_t n = host.numel();
    parallel_for((n + 3) / 4, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const PhiloxBlock words = philox(key.seed, key.stream, static_cast<uint64_t>(block));
        for (int lane = 0; lane < 4 && 4 * block + lane < n; ++lane)
          out[4 * block + lane] = static_cast<T>(f(words, lane));
      }
    });
  });
  return host.to(device);
}

}  // namespace

Tensor random_uniform(Shape shape, double low, double high, Generator& generator, DType dtype,
                      Device device) {
  return draw(shape, generator, dtype, device, [=](const PhiloxBlock& words, int lane) {
    return low + (high - low) * static_cast<double>(to_uniform(words.word[lane]));
  });
}

Tensor random_normal(Shape shape, double mean, double deviation, Generator& generator, DType dtype,
                     Device device) {
  return draw(shape, generator, dtype, device, [=](const PhiloxBlock& words, int lane) {
    // Words 0 and 1 make elements 0 and 1, words 2 and 3 elements 2 and 3.
    const int pair = lane & ~1;
    const double u =
        1.0 - static_cast<double>(to_uniform(words.word[pair]));  // (0, 1]: its logarithm is finite
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(to_uniform(words.word[pair + 1]));
    const double radius = std::sqrt(-2.0 * std::log(u));
    return mean + deviation * radius * ((lane & 1) != 0 ? std::sin(angle) : std::cos(angle));
  });
}

}  // namespace adj
