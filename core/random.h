#pragma once

#include <adjoint/core/tensor.h>

#include <cstdint>

namespace adj {

/// Names one sequence of random numbers: the number at a position is a function of (seed, stream, position)
/// alone, whatever device or thread asks. In a captured step the stream counts from `*base`, device memory
/// that advances with every replay; eagerly `base` is null.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
  const uint64_t* base = nullptr;
};

/// The stream as it stands when the numbers are drawn.
ADJ_HOST_DEVICE inline uint64_t stream_of(const RandomKey& key) {
  return key.stream + (key.base != nullptr ? *key.base : 0);
}

struct PhiloxBlock {
  uint32_t word[4];
};

/// Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011): four words for a
/// block counter; the key is the seed, the upper counter half the stream.
ADJ_HOST_DEVICE inline PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform in [0, 1), 24 bits.
ADJ_HOST_DEVICE inline float to_uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24f; }

/// Bernoulli draws for dropout. Each decision takes 16 bits, eight to a Philox block: position p is half-word
/// p % 8 (low half first) of block p / 8, and is kept when it is >= threshold. The drop probability is so
/// rounded to a multiple of 2^-16, and `scale` = 1 / (probability of keeping as rounded), so that the
/// expectation is exact.
struct DropoutRule {
  uint32_t threshold = 0;
  float scale = 1.0f;

  /// `p` in [0, 1): the probability of dropping. Throws otherwise.
  static DropoutRule of(float p);
};

ADJ_HOST_DEVICE inline bool dropout_keeps(const PhiloxBlock& block, int half, uint32_t threshold) {
  const uint32_t word = block.word[half >> 1];
  return ((half & 1) != 0 ? word >> 16 : word & 0xffffu) >= threshold;
}

/// Hands out streams: every random op takes the next one, so a program with the same seed draws the same
/// numbers.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}

  uint64_t seed() const { return seed_; }
  /// Streams handed out so far; restoring it continues a run where it stood.
  uint64_t position() const { return next_; }
  void set_state(uint64_t seed, uint64_t position);
  RandomKey next();

  /// Until end_capture(), keys are relative to `*device_base`, which the caller keeps equal to position() as
  /// it was here, plus what each replay adds. end_capture() returns the number of streams the step takes, and
  /// sets the position back: the recorded step has not run yet.
  void begin_capture(const uint64_t* device_base);
  uint64_t end_capture();
  bool capturing() const { return base_ != nullptr; }

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
  uint64_t capture_start_ = 0;
  const uint64_t* base_ = nullptr;
};

/// The generator of layers' initialisers and of dropout.
Generator& default_generator();
/// Restarts the default generator.
void manual_seed(uint64_t seed);

/// Uniform in [low, high) and normal (Box-Muller) numbers, float32 or float64, made on the host and moved to
/// `device`: used for initial weights and test data. Element i comes from position i of the stream.
Tensor random_uniform(Shape shape, double low, double high, Generator& generator, DType dtype = DType::f32,
                      Device device = {});
Tensor random_normal(Shape shape, double mean, double deviation, Generator& generator,
                     DType dtype = DType::f32, Device device = {});

}  // namespace adj
