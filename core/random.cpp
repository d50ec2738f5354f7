#include <adjoint/core/capture.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace adj {

DropoutRule dropout_rule(float p) {
  ADJ_CHECK(p >= 0.0f && p < 1.0f, "dropout: expected a probability in [0, 1), got {}", p);
  // At most 65535 / 65536, so that something is left to scale up.
  const auto threshold = static_cast<uint32_t>(std::min(std::lround(p * 65536.0f), 65535l));
  return {threshold, 65536.0f / static_cast<float>(65536u - threshold)};
}

Generator::Generator(uint64_t seed, uint64_t position) : state_(std::make_shared<detail::GeneratorState>()) {
  state_->seed = seed;
  state_->position = position;
  if (const detail::Recorder* recording = detail::recorder()) state_->born = recording->number();
}

Generator::Generator(const Generator& other) : Generator(0, 0) {
  std::tie(state_->seed, state_->position) = other.state();
}

Generator& Generator::operator=(const Generator& other) {
  const auto [seed, position] = other.state();
  set_state(seed, position);
  return *this;
}

std::pair<uint64_t, uint64_t> Generator::state() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->seed, state_->position};
}

void Generator::set_state(uint64_t seed, uint64_t position) {
  const detail::Recorder* recording = detail::recorder();
  const std::lock_guard lock(state_->mutex);
  ADJ_CHECK(state_->recordings == 0 && (recording == nullptr || state_->born == recording->number()),
            "generator: its state cannot be set while a step is being captured");
  state_->seed = seed;
  state_->position = position;
}

RandomKey Generator::next() {
  detail::Recorder* recording = detail::recorder();
  if (recording != nullptr && state_->born != recording->number()) return recording->draw(state_);
  const std::lock_guard lock(state_->mutex);
  return {state_->seed, state_->position++, nullptr};
}

Generator Generator::split(uint64_t key) const {
  // The last block of a stream, which no tensor reaches.
  const PhiloxBlock words = philox(seed(), key, ~uint64_t{0});
  return Generator(words.word[0] | uint64_t{words.word[1]} << 32);
}

namespace {

// Distinct from the keys that programs pass to split().
constexpr uint64_t kPurposeKey = 0xadadad00'00000000u;

uint64_t seed_for(Purpose purpose, uint64_t seed) {
  if (purpose == Purpose::model) return seed;
  return Generator(seed).split(kPurposeKey + static_cast<uint64_t>(purpose)).seed();
}

}  // namespace

const char* name_of(Purpose purpose) {
  constexpr const char* kNames[] = {"model", "split", "sample"};
  return kNames[static_cast<size_t>(purpose)];
}

namespace {

Generators& program_generators() {
  static auto generators = [] {
    const detail::RecorderScope whoever_asks_first(nullptr);  // not part of any captured step
    return Generators{Generator(seed_for(Purpose::model, 0)), Generator(seed_for(Purpose::split, 0)),
                      Generator(seed_for(Purpose::sample, 0))};
  }();
  return generators;
}

thread_local Generators* thread_generators = nullptr;  // of the innermost GeneratorScope

Generators& current_generators() {
  return thread_generators != nullptr ? *thread_generators : program_generators();
}

}  // namespace

Generator& generator_for(Purpose purpose) { return current_generators()[static_cast<size_t>(purpose)]; }

Generators copy_generators() { return current_generators(); }

GeneratorScope::GeneratorScope(Generators& generators)
    : outer_(std::exchange(thread_generators, &generators)) {}
GeneratorScope::~GeneratorScope() { thread_generators = outer_; }

void manual_seed(uint64_t seed) {
  for (Purpose purpose : kPurposes) generator_for(purpose).set_state(seed_for(purpose, seed), 0);
}

namespace {

constexpr int64_t kGrain = 1 << 14;

// f maps a block of four words and a lane to element `4 * block + lane`.
template <class F>
Tensor draw(Shape shape, Generator& generator, DType dtype, Device device, F&& f) {
  detail::refuse_cpu_in_capture("random numbers");
  ADJ_CHECK(is_floating(dtype), "random numbers: expected floating, got {}", name_of(dtype));
  Tensor host = Tensor::empty(shape, dtype);
  const RandomKey key = generator.next();
  dispatch_features(dtype, [&]<class S>() {
    S* out = host.mutable_data<S>();
    const int64_t n = host.numel();
    parallel_for((n + 3) / 4, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const PhiloxBlock words = philox(key.seed, key.stream, static_cast<uint64_t>(block));
        for (int lane = 0; lane < 4 && 4 * block + lane < n; ++lane)
          out[4 * block + lane] = narrow<S>(static_cast<Accumulator<S>>(f(words, lane)));
      }
    });
  });
  return host.to(device);
}

/// The largest number of the dtype below `high`.
double largest_below(double high, DType dtype) {
  double found = 0.0;
  dispatch_features(dtype, [&]<class S>() {
    auto below = static_cast<Accumulator<S>>(std::nextafter(high, -std::numeric_limits<double>::infinity()));
    if (static_cast<double>(below) >= high)
      below = std::nextafter(below, -std::numeric_limits<Accumulator<S>>::infinity());
    if constexpr (std::is_same_v<S, bfloat16>) {
      // Clears the low 16 bits: rounds down, for negative numbers away from 0.
      const auto bits = std::bit_cast<uint32_t>(below);
      below = std::bit_cast<float>((bits + (below < 0.0f ? 0xffffu : 0u)) & 0xffff0000u);
    }
    found = static_cast<double>(below);
  });
  return found;
}

}  // namespace

Tensor random_uniform(Shape shape, double low, double high, Generator& generator, DType dtype,
                      Device device) {
  ADJ_CHECK(low <= high, "random_uniform: the range [{}, {}) is empty", low, high);
  // Rounding moves some draws to `high`; for narrow dtypes many.
  const double most = low < high ? largest_below(high, dtype) : low;
  return draw(shape, generator, dtype, device, [=](const PhiloxBlock& words, int lane) {
    return std::min(low + (high - low) * static_cast<double>(to_uniform(words.word[lane])), most);
  });
}

Tensor random_normal(Shape shape, double mean, double deviation, Generator& generator, DType dtype,
                     Device device) {
  return draw(shape, generator, dtype, device, [=](const PhiloxBlock& words, int lane) {
    // Words 0 and 1 give elements 0 and 1, words 2 and 3 give elements 2 and 3.
    const int pair = lane & ~1;
    const double u =
        1.0 - static_cast<double>(to_uniform(words.word[pair]));  // in (0, 1], so its logarithm is finite
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(to_uniform(words.word[pair + 1]));
    const double radius = std::sqrt(-2.0 * std::log(u));
    return mean + deviation * radius * ((lane & 1) != 0 ? std::sin(angle) : std::cos(angle));
  });
}

namespace {

__extension__ using Wide = unsigned __int128;

/// Maps a word to [0, range) unless it must be rejected: a few words are, to keep the draw exactly uniform.
bool into_range(uint64_t word, uint64_t range, uint64_t& result) {
  const Wide product = Wide{word} * range;
  const auto low = static_cast<uint64_t>(product);
  if (low < range && low < (0 - range) % range) return false;
  result = static_cast<uint64_t>(product >> 64);
  return true;
}

/// The words of one stream from a given block on, in order.
class Words {
 public:
  Words(const RandomKey& key, uint64_t first_block) : key_(key), block_(first_block) {}

  uint32_t next() {
    if (lane_ == 4) {
      words_ = philox(key_.seed, key_.stream, block_++);
      lane_ = 0;
    }
    return words_.word[lane_++];
  }
  /// Uniform in [0, range).
  uint32_t below(uint32_t range) {
    uint64_t product = uint64_t{next()} * range;
    if (static_cast<uint32_t>(product) < range) {
      const uint32_t turned_away = (0 - range) % range;
      while (static_cast<uint32_t>(product) < turned_away) product = uint64_t{next()} * range;
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  RandomKey key_;
  uint64_t block_;
  int lane_ = 4;
  PhiloxBlock words_{};
};

constexpr int kBucketBits = 15;                        // numbers per bucket; 128 KiB
constexpr int64_t kMostChunks = 64;                    // limits the table of counts
constexpr uint64_t kBucketBlocks = uint64_t{1} << 40;  // stream blocks reserved per bucket

}  // namespace

Tensor random_integers(Shape shape, int64_t low, int64_t high, Generator& generator, DType dtype,
                       Device device) {
  detail::refuse_cpu_in_capture("random_integers");
  ADJ_CHECK(dtype == DType::i32 || dtype == DType::i64, "random_integers: expected int32 or int64, got {}",
            name_of(dtype));
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  ADJ_CHECK(low < high && (dtype == DType::i64 || (low >= kLeast && high <= kMost + 1)),
            "random_integers: no numbers in [{}, {}) of {}", low, high, name_of(dtype));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  Tensor host = Tensor::empty(shape, dtype);
  const RandomKey key = generator.next();
  const auto fill = [&]<class T>(T* out) {
    parallel_for(host.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t found = 0;
        for (uint64_t attempt = 0;; ++attempt) {
          // Attempts are 2^56 blocks apart: no tensor has 2^57 elements.
          const PhiloxBlock words =
              philox(key.seed, key.stream, (attempt << 56) + static_cast<uint64_t>(i) / 2);
          const size_t lane = i % 2 == 0 ? 0 : 2;
          if (into_range(words.word[lane] | uint64_t{words.word[lane + 1]} << 32, range, found)) break;
        }
        out[i] = static_cast<T>(static_cast<uint64_t>(low) + found);
      }
    });
  };
  dtype == DType::i32 ? fill(host.mutable_data<int32_t>()) : fill(host.mutable_data<int64_t>());
  return host.to(device);
}

Tensor random_permutation(int64_t n, Generator& generator, Device device) {
  detail::refuse_cpu_in_capture("random_permutation");
  ADJ_CHECK(n >= 0 && n <= int64_t{1} << 31, "random_permutation: expected 0 to 2^31 numbers, got {}", n);
  const RandomKey choice = generator.next(), shuffle = generator.next();
  Tensor host = Tensor::empty({n}, DType::i32);
  int32_t* out = host.mutable_data<int32_t>();

  const int bits =
      n <= int64_t{1} << kBucketBits ? 0 : std::bit_width(static_cast<uint64_t>(n - 1) >> kBucketBits);
  const int64_t buckets = int64_t{1} << bits;
  const int64_t chunk = std::max<int64_t>((n + kMostChunks - 1) / kMostChunks, kGrain);
  const int64_t chunks = (n + chunk - 1) / chunk;
  const auto each = [&](int64_t begin, int64_t end, auto&& f) {
    PhiloxBlock words{};
    for (int64_t i = begin; i < end; ++i) {
      if (bits > 0 && (i == begin || i % 4 == 0))
        words = philox(choice.seed, choice.stream, static_cast<uint64_t>(i) / 4);
      f(i, bits > 0 ? static_cast<int64_t>(words.word[i % 4] >> (32 - bits)) : 0);
    }
  };
  // places[c * buckets + b]: number of elements of chunk c in bucket b, then the position of the first of
  // them.
  std::vector<int64_t> places(static_cast<size_t>(chunks * buckets));
  std::vector<int64_t> first(static_cast<size_t>(buckets) + 1);
  const auto place = [&](int64_t begin) { return places.data() + begin / chunk * buckets; };
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    int64_t* counts = place(begin);
    each(begin, end, [&](int64_t, int64_t bucket) { ++counts[bucket]; });
  });
  int64_t sum = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    first[static_cast<size_t>(b)] = sum;
    for (int64_t c = 0; c < chunks; ++c)
      sum += std::exchange(places[static_cast<size_t>(c * buckets + b)], sum);
  }
  first.back() = sum;
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    int64_t* next = place(begin);
    each(begin, end, [&](int64_t i, int64_t bucket) { out[next[bucket]++] = static_cast<int32_t>(i); });
  });
  parallel_for(buckets, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      Words words(shuffle, static_cast<uint64_t>(b) * kBucketBlocks);
      int32_t* bucket = out + first[static_cast<size_t>(b)];
      for (int64_t left = first[static_cast<size_t>(b) + 1] - first[static_cast<size_t>(b)]; left > 1; --left)
        std::swap(bucket[left - 1], bucket[words.below(static_cast<uint32_t>(left))]);
    }
  });
  return host.to(device);
}

}  // namespace adj
