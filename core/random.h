#pragma once

#include <adjoint/core/tensor.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

namespace adj {

/// Identifies one sequence of random numbers: the number at a position is a function of (seed, stream,
/// position) only, on any device and thread. In a captured step the stream is an offset to `*base`, device
/// memory that advances with every replay; in eager mode `base` is null.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
  const uint64_t* base = nullptr;
  uint64_t first_block = 0;  ///< of dropout masks: the Philox block that has position 0
};

/// The stream number at the time of the draw.
ADJ_HOST_DEVICE inline uint64_t stream_of(const RandomKey& key) {
  return key.stream + (key.base != nullptr ? *key.base : 0);
}

/// One output of philox(): 128 random bits, 32 in each `word`.
struct PhiloxBlock {
  uint32_t word[4];
};

/// Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011): four words per block
/// counter. The key is the seed; the upper half of the counter is the stream.
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

/// Bernoulli draws for dropout. Each decision uses 16 bits, eight per Philox block: position p is half-word p
/// % 8 (low half first) of block p / 8; the element is kept if it is >= threshold. The drop probability is
/// thus rounded to a multiple of 2^-16, and `scale` = 1 / (rounded keep probability), so that the expectation
/// is exact.
struct DropoutRule {
  uint32_t threshold = 0;
  float scale = 1.0f;
};

/// `p` in [0, 1): drop probability. Throws otherwise.
DropoutRule dropout_rule(float p);

/// True if the element at half-word `half`, its position % 8, of its block is kept.
ADJ_HOST_DEVICE inline bool dropout_keeps(const PhiloxBlock& block, int half, uint32_t threshold) {
  const uint32_t word = block.word[half >> 1];
  return ((half & 1) != 0 ? word >> 16 : word & 0xffffu) >= threshold;
}

namespace detail {

/// State of a generator; shared with the captured steps that draw from it.
struct GeneratorState {
  std::mutex mutex;  // guards all members except `born`
  uint64_t seed = 0;
  uint64_t position = 0;
  uint64_t born = 0;   // the recording (core/capture.h) within which it was made; 0: none
  int recordings = 0;  // active ones that have drawn from it
};

}  // namespace detail

/// Hands out random streams: every random op takes the next one, so programs with the same seed draw the same
/// numbers. Threads may share a generator, but which thread gets which stream is then up to their scheduling;
/// with one generator per thread, by split(), the numbers do not depend on it. A copy is an independent
/// generator that continues from the same state. Captured steps: core/capture.h.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : Generator(seed, 0) {}
  Generator(const Generator& other);
  Generator& operator=(const Generator& other);

  uint64_t seed() const { return state().first; }
  /// Number of streams handed out; restore it to resume a run.
  uint64_t position() const { return state().second; }
  /// Throws Error while this thread is capturing, or while a captured step that draws from this generator is
  /// being recorded.
  void set_state(uint64_t seed, uint64_t position);
  RandomKey next();

  /// An independent generator for `key` (a worker, an epoch, a purpose), unrelated to this one and to those
  /// of other keys. Depends on the seed and the key only, not on the position.
  Generator split(uint64_t key) const;

 private:
  Generator(uint64_t seed, uint64_t position);
  std::pair<uint64_t, uint64_t> state() const;

  std::shared_ptr<detail::GeneratorState> state_;
};

/// The program's own generators, one per purpose, so that sampling one more batch does not change initial
/// weights or dropout masks.
enum class Purpose : uint8_t {
  model,   ///< initial weights and dropout: default_generator()
  split,   ///< splitting a dataset into training, validation and test
  sample,  ///< neighbours, negatives, mini-batch order
};
inline constexpr Purpose kPurposes[] = {Purpose::model, Purpose::split, Purpose::sample};  ///< all of them
/// "model", "split", "sample": for checkpoints, which store the state of each.
const char* name_of(Purpose purpose);
Generator& generator_for(Purpose purpose);  ///< at the program's start as after manual_seed(0)
/// Generator for initial weights and dropout.
inline Generator& default_generator() { return generator_for(Purpose::model); }
/// Restarts the generators of all purposes: the default one with `seed`, the others with seeds derived from
/// it.
void manual_seed(uint64_t seed);

/// One generator for each purpose, in the order of kPurposes.
using Generators = std::array<Generator, std::size(kPurposes)>;
/// Copies of those that this thread draws from.
Generators copy_generators();
/// In this scope generator_for() has this thread's own ones in place of the program's: threads that begin
/// with the same copies draw the same numbers, whatever their scheduling. Scopes nest.
class GeneratorScope {
 public:
  /// `own` outlives the scope.
  explicit GeneratorScope(Generators& generators);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generators* outer_;
};

// The functions below draw on the host and copy the result to `device`: the same numbers for every device and
// number of threads. They throw Error within a captured step.

/// Uniform in [low, high) and normal (Box-Muller) numbers, in float64, or rounded from it to float32, and
/// from there to bfloat16: for initial weights and test data. Values that would round to `high` become the
/// largest number of the dtype below it; if low = high, all are low. Throws if low > high. Element i comes
/// from position i of the stream.
Tensor random_uniform(Shape shape, double low, double high, Generator& generator, DType dtype = DType::f32,
                      Device device = {});
/// Normal numbers with this mean and standard deviation, rounded as those of random_uniform().
Tensor random_normal(Shape shape, double mean, double deviation, Generator& generator,
                     DType dtype = DType::f32, Device device = {});

/// Integers in [low, high), int32 or int64, exactly uniform (Lemire, Fast Random Integer Generation in an
/// Interval, 2019). Element i comes from position i of the stream. Throws unless low < high and both bounds
/// fit the dtype.
Tensor random_integers(Shape shape, int64_t low, int64_t high, Generator& generator, DType dtype = DType::i64,
                       Device device = {});

/// Uniformly random permutation of 0 … n - 1, int32 [n]; n up to 2^31. Takes two streams. Linear in n:
/// numbers are scattered to random buckets (Rao 1961, Sandelius 1962), then each bucket, which fits the
/// cache, is shuffled (Fisher-Yates).
Tensor random_permutation(int64_t n, Generator& generator, Device device = {});

}  // namespace adj
