#pragma once

#include <adjoint/core/tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

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

namespace detail {

/// A generator as it stands; shared with the captured steps that draw from it.
struct GeneratorState {
  std::mutex mutex;  // guards what follows but `born`
  uint64_t seed = 0;
  uint64_t position = 0;
  uint64_t born = 0;   // the recording (core/capture.h) within which it was made; 0: none
  int recordings = 0;  // that are going on and have drawn from it
};

}  // namespace detail

/// Hands out streams: every random op takes the next one, so a program with the same seed draws the same
/// numbers. Threads may share a generator (which of them gets which stream is then for them to settle);
/// threads that each have their own, by split(), draw the same numbers however they are scheduled. A copy is
/// another generator that continues from the same state. Captured steps: core/capture.h.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : Generator(seed, 0) {}
  Generator(const Generator& other);
  Generator& operator=(const Generator& other);

  uint64_t seed() const { return state().first; }
  /// Streams handed out so far; restoring it continues a run where it stood.
  uint64_t position() const { return state().second; }
  /// Throws Error while a step is being captured that draws from it, or by this thread.
  void set_state(uint64_t seed, uint64_t position);
  RandomKey next();

  /// A generator of its own for `key` (a worker, an epoch, a purpose), whose numbers have nothing to do with
  /// this one's or another key's. Depends on the seed and the key alone, wherever this one stands.
  Generator split(uint64_t key) const;

 private:
  Generator(uint64_t seed, uint64_t position);
  std::pair<uint64_t, uint64_t> state() const;

  std::shared_ptr<detail::GeneratorState> state_;
};

/// What the program's own generators are for. Each has one, so that a program that samples one more batch
/// keeps its initial weights and its dropout masks.
enum class Purpose : uint8_t {
  model,   ///< initial weights and dropout: default_generator()
  split,   ///< dividing a dataset into training, validation and test
  sample,  ///< neighbours, negatives, the order of mini-batches
};
inline constexpr Purpose kPurposes[] = {Purpose::model, Purpose::split, Purpose::sample};
/// "model", "split", "sample": for checkpoints, which keep the state of all of them.
const char* name_of(Purpose purpose);
Generator& generator_for(Purpose purpose);
/// The generator of layers' initialisers and of dropout.
inline Generator& default_generator() { return generator_for(Purpose::model); }
/// Restarts the generators of all purposes: the default one with `seed`, the others with seeds made of it.
void manual_seed(uint64_t seed);

// The functions below draw on the host and move what they made to `device`: the numbers are the same for
// every device and number of threads. Within a captured step they throw Error.

/// Uniform in [low, high) and normal (Box-Muller) numbers, float64 or these rounded to float32, and further
/// to bfloat16: for initial weights and test data. What rounding would bring to `high` becomes the largest
/// number of the dtype below it; where low = high, all are that. Throws where low > high. Element i comes
/// from position i of the stream.
Tensor random_uniform(Shape shape, double low, double high, Generator& generator, DType dtype = DType::f32,
                      Device device = {});
Tensor random_normal(Shape shape, double mean, double deviation, Generator& generator,
                     DType dtype = DType::f32, Device device = {});

/// Integers in [low, high), int32 or int64, each exactly as likely as any other (Lemire, Fast Random Integer
/// Generation in an Interval, 2019). Element i comes from position i of the stream. Throws unless low < high
/// and both ends fit the dtype.
Tensor random_integers(Shape shape, int64_t low, int64_t high, Generator& generator, DType dtype = DType::i64,
                       Device device = {});

/// The numbers 0 … n - 1 in random order, int32 [n], every order as likely as any other; n up to 2^31. Takes
/// two streams. Linear in n: each number goes to a bucket of its own choice (Rao 1961, Sandelius 1962), then
/// each bucket, which fits the cache, is shuffled (Fisher-Yates).
Tensor random_permutation(int64_t n, Generator& generator, Device device = {});

}  // namespace adj
