#include "../support.h"
#include <adjoint/core/capture.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <thread>

using namespace adj;
using namespace adj::test;

TEST_CASE("Philox4x32-10 gives the known answers of the Random123 distribution") {
  struct KnownAnswer {
    uint64_t seed, stream, block;
    uint32_t words[4];
  };
  const uint64_t ones = ~uint64_t{0};
  for (const KnownAnswer& k :
       {KnownAnswer{0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        KnownAnswer{ones, ones, ones, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        KnownAnswer{0x299f31d0a4093822,
                    0x0370734413198a2e,
                    0x85a308d3243f6a88,
                    {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
    const PhiloxBlock got = philox(k.seed, k.stream, k.block);
    for (int i = 0; i < 4; ++i) CHECK(got.word[i] == k.words[i]);
  }
}

TEST_CASE("random tensors depend on seed and stream, not on threads, dtype or device") {
  const auto draw = [](uint64_t seed, int skipped, DType dtype = DType::f32) {
    Generator generator(seed);
    for (int i = 0; i < skipped; ++i) generator.next();
    return random_normal({100003}, 0.0, 1.0, generator, dtype);
  };
  const Tensor first = draw(1, 0);
  CHECK(same_bits_on_any_threads([&] { return draw(1, 0); }));
  CHECK(!same_bits(draw(2, 0), first));
  CHECK(!same_bits(draw(1, 1), first));
  CHECK(close(first, draw(1, 0, DType::f64), 1e-6));
  // A longer tensor begins as a shorter one.
  Generator generator(1);
  CHECK(same_bits(random_normal({10}, 0.0, 1.0, generator), first.rows(0, 10)));
}

TEST_CASE("uniform and normal numbers have the right moments and range") {
  Generator generator(7);
  const int64_t n = 400000;
  double sum = 0.0, squares = 0.0, smallest = 1e9, largest = -1e9;
  for (double v : values(random_uniform({n}, -1.0, 3.0, generator))) {
    sum += v;
    squares += v * v;
    smallest = std::min(smallest, v);
    largest = std::max(largest, v);
  }
  CHECK(smallest >= -1.0);
  CHECK(largest < 3.0);
  CHECK(std::abs(sum / n - 1.0) < 5 * std::sqrt(16.0 / 12 / n));
  CHECK(std::abs(squares / n - 7.0 / 3) < 0.02);

  sum = squares = 0.0;
  double fourth = 0.0, neighbours = 0.0, last = 0.0;
  for (double v : values(random_normal({n}, 0.0, 1.0, generator))) {
    sum += v;
    squares += v * v;
    fourth += v * v * v * v;
    neighbours += v * last;
    last = v;
  }
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1.0) < 0.012);
  CHECK(std::abs(fourth / n - 3.0) < 0.1);
  CHECK(std::abs(neighbours / n) < 5 / std::sqrt(n));
}

TEST_CASE("uniform numbers are below the upper end in every dtype, and otherwise rounded as usual") {
  struct Range {
    double low, high;
  };
  for (const auto& [low, high] :
       {Range{0, 1}, Range{-1, 0}, Range{-3, -1.5}, Range{1e8, 1e8 + 3}, Range{1e17, 1e17 + 33},
        Range{0.7, 0.9}, Range{-1e-45, 1e-45}, Range{0, 1e-320}, Range{0, 4e38}}) {
    CAPTURES(low, high);
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(name_of(dtype));
      Generator generator(3), again(3);
      const auto found = values(random_uniform({20000}, low, high, generator, dtype));
      Numbers exact = values(random_uniform({20000}, 0.0, 1.0, again, DType::f64));
      for (double& u : exact) u = low + (high - low) * u;
      const auto rounded = values(Tensor::from(exact).to(dtype));
      double largest = -INFINITY;
      size_t brought_down = 0;
      for (size_t i = 0; i < found.size(); ++i) {
        REQUIRE(found[i] < high);
        if (rounded[i] >= high) {
          largest = std::max(largest, found[i]);
          ++brought_down;
        } else if (dtype != DType::f64) {  // the compiler may round the last bit differently here
          REQUIRE(found[i] == rounded[i]);
        }
      }
      // The dtype has no number between the clamped value and the upper end.
      if (brought_down > 0 && dtype == DType::f32)
        CHECK(static_cast<double>(std::nextafter(static_cast<float>(largest), INFINITY)) >= high);
      if (dtype == DType::bf16 && low == 0 && high == 1) {
        CHECK(brought_down > 0);
        CHECK(largest == 1.0 - 0x1p-8);
      }
      if (dtype == DType::bf16 && high == -1.5) CHECK(largest == -1.5 - 0x1p-7);
    }
  }
  Generator generator(3);
  CHECK(values(random_uniform({3}, 0.7, 0.7, generator, DType::f64)) == Numbers(3, 0.7));
  CHECK_ERROR(random_uniform({3}, 1.0, 0.5, generator), "random_uniform: the range [1, 0.5) is empty");
}

TEST_CASE("random tensors are derived from Philox's words for seed and stream") {
  // By an independent implementation in Python, for seed 5 and stream 3.
  for (Device device : devices()) {
    const auto generator = [] {
      Generator result(5);
      result.set_state(5, 3);
      return result;
    };
    Generator g = generator();
    CHECK(values(random_uniform({8}, -1.0, 3.0, g, DType::f64, device)) ==
          Numbers{-0.2555572986602783, 0.27100706100463867, 1.4350776672363281, -0.21018052101135254,
                  0.306384801864624, 1.5590925216674805, -0.8760807514190674, 2.5546329021453857});
    CHECK(g.position() == 4);
    g = generator();
    CHECK(close(random_normal({8}, 1.0, 2.0, g, DType::f64, device),
                {0.46995947165025853, 2.1689756774096325, 1.888272624524888, 3.5920333856665825,
                 -0.13565008308556292, -0.3687877587300361, 1.3838992438276432, 0.6769210012085589},
                1e-14));
    for (DType dtype : {DType::i32, DType::i64}) {
      g = generator();
      CHECK(values(random_integers({8}, -10, 1000, g, dtype, device)) ==
            Numbers{310, 189, 636, 887, 409, 569, 817, 854});
    }
    g = generator();
    CHECK(values(random_permutation(10, g, device)) == Numbers{7, 8, 0, 5, 3, 4, 6, 1, 2, 9});
    CHECK(g.position() == 5);
  }
}

TEST_CASE("to_uniform covers [0, 1)") {
  CHECK(to_uniform(0) == 0.0f);
  CHECK(to_uniform(0xffffffffu) < 1.0f);
  CHECK(to_uniform(0x80000000u) == 0.5f);
}

TEST_CASE("a generator assigns streams and can be reset") {
  Generator generator(3);
  const RandomKey first = generator.next();
  CHECK(first.seed == 3);
  CHECK(first.stream == 0);
  CHECK(first.base == nullptr);
  CHECK(generator.next().stream == 1);
  CHECK(generator.position() == 2);
  generator.set_state(5, 1);
  CHECK(generator.seed() == 5);
  CHECK(generator.next().stream == 1);
}

TEST_CASE("a captured step draws from the same streams of each generator as an eager one") {
  Generator first(3), second(4), untouched(5);
  for (int i = 0; i < 2; ++i) first.next();
  uint64_t bases[detail::Recorder::kMaxGenerators] = {first.position(), second.position()};
  {
    detail::Recorder recorder({}, nullptr, bases);
    const detail::RecorderScope recording(&recorder);
    const RandomKey a = first.next(), b = second.next(), c = first.next();
    CHECK(a.seed == 3);
    CHECK(b.seed == 4);
    CHECK(stream_of(a) == 2);
    CHECK(stream_of(b) == 0);
    CHECK(stream_of(c) == 3);
    // The step has not run: the generators have not moved.
    CHECK(first.position() == 2);
    CHECK(second.position() == 0);
    REQUIRE(recorder.drawn().size() == 2);
    CHECK(recorder.drawn()[0].streams == 2);
    CHECK(recorder.drawn()[1].streams == 1);
    bases[0] += 2;  // as a replay does
    CHECK(stream_of(a) == 4);
    CHECK(stream_of(b) == 0);

    CHECK_THROWS_AS(first.set_state(0, 0), Error);
    CHECK_THROWS_AS(untouched.set_state(0, 0), Error);
    CHECK_THROWS_AS(first = untouched, Error);
    // A generator local to the step is created in every run.
    Generator local(9);
    CHECK(local.next().base == nullptr);
    CHECK(first.split(1).next().base == nullptr);
    local.set_state(9, 0);
    CHECK(local.next().stream == 0);
  }
  first.set_state(3, 0);
  CHECK(first.next().base == nullptr);
}

TEST_CASE("draws of another thread are not recorded, and the generator cannot be reset") {
  Generator generator(3);
  const uint64_t bases[detail::Recorder::kMaxGenerators] = {};
  detail::Recorder recorder({}, nullptr, bases);
  const detail::RecorderScope recording(&recorder);
  (void)generator.next();
  RandomKey elsewhere;
  std::string refusal;
  std::thread([&] {
    elsewhere = generator.next();
    refusal = error_of([&] { generator.set_state(1, 1); });
  }).join();
  CHECK(elsewhere.base == nullptr);
  CHECK(elsewhere.stream == 0);
  CHECK_FALSE(refusal.empty());
  CHECK(generator.position() == 1);
}

TEST_CASE("a captured step may draw from kMaxGenerators generators") {
  std::vector<Generator> many;
  for (uint64_t i = 0; i <= detail::Recorder::kMaxGenerators; ++i) many.emplace_back(i);
  const uint64_t bases[detail::Recorder::kMaxGenerators] = {};
  detail::Recorder recorder({}, nullptr, bases);
  const detail::RecorderScope recording(&recorder);
  for (size_t i = 0; i < detail::Recorder::kMaxGenerators; ++i)
    for (uint64_t draw = 0; draw < 3; ++draw) {
      const RandomKey key = many[i].next();
      CHECK(key.base == bases + i);
      CHECK(key.stream == draw);
    }
  CHECK_THROWS_AS(many.back().next(), Error);
}

TEST_CASE("threads that share a generator get each stream once") {
  Generator generator(3);
  std::vector<std::vector<uint64_t>> of_thread(4);
  in_threads(4, [&](int t) {
    for (int i = 0; i < 5000; ++i) of_thread[uz(t)].push_back(generator.next().stream);
  });
  std::vector<uint64_t> all;
  for (const auto& got : of_thread) all.insert(all.end(), got.begin(), got.end());
  std::sort(all.begin(), all.end());
  for (uint64_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == i);
  CHECK(generator.position() == all.size());
}

TEST_CASE("split gives each key its own numbers, whatever the generator's position") {
  Generator generator(3);
  const uint64_t seed = generator.split(1).seed();
  for (int i = 0; i < 5; ++i) generator.next();
  CHECK(generator.split(1).seed() == seed);
  CHECK(generator.split(1).position() == 0);
  CHECK(generator.position() == 5);
  std::set<uint64_t> seeds{3};
  for (uint64_t key = 0; key < 1000; ++key) {
    seeds.insert(generator.split(key).seed());
    seeds.insert(generator.split(key).split(key).seed());
    seeds.insert(Generator(4).split(key).seed());
  }
  CHECK(seeds.size() == 3001);
  Generator a = generator.split(1), b = generator.split(2);
  double together = 0.0;
  const Numbers x = values(random_normal({100000}, 0.0, 1.0, a)),
                y = values(random_normal({100000}, 0.0, 1.0, b));
  for (size_t i = 0; i < x.size(); ++i) together += x[i] * y[i];
  CHECK(std::abs(together) < 5 * std::sqrt(100000.0));
}

TEST_CASE("a copied generator continues from the same state, independently") {
  Generator generator(3);
  generator.next();
  Generator copy = generator;
  CHECK(copy.next().stream == 1);
  CHECK(copy.next().stream == 2);
  CHECK(generator.next().stream == 1);
  copy = Generator(8);
  CHECK(copy.seed() == 8);
  CHECK(copy.position() == 0);
  CHECK(generator.seed() == 3);
}

TEST_CASE("manual_seed restarts every purpose, each with its own numbers") {
  CHECK(&default_generator() == &generator_for(Purpose::model));
  manual_seed(12);
  CHECK(default_generator().seed() == 12);
  std::set<uint64_t> seeds;
  for (Purpose purpose : kPurposes) {
    seeds.insert(generator_for(purpose).seed());
    (void)generator_for(purpose).next();
    CHECK(generator_for(purpose).position() == 1);
  }
  CHECK(seeds.size() == std::size(kPurposes));
  manual_seed(12);
  for (Purpose purpose : kPurposes) {
    CHECK(seeds.contains(generator_for(purpose).seed()));
    CHECK(generator_for(purpose).position() == 0);
  }
  manual_seed(13);
  for (Purpose purpose : kPurposes) CHECK(!seeds.contains(generator_for(purpose).seed()));
}

TEST_CASE("random integers are uniform over their interval, whatever its length") {
  Generator generator(21);
  const int64_t n = 300000;
  for (auto [low, high] : {std::pair<int64_t, int64_t>{0, 1}, {-3, 4}, {10, 11}, {5, 105}}) {
    CAPTURE(high);
    std::vector<int64_t> counts(uz(high - low));
    for (int64_t v : random_integers({n}, low, high, generator).to_vector<int64_t>()) {
      REQUIRE(v >= low);
      REQUIRE(v < high);
      ++counts[uz(v - low)];
    }
    const double expected = static_cast<double>(n) / static_cast<double>(high - low);
    for (int64_t count : counts)
      CHECK(std::abs(static_cast<double>(count) - expected) < 6 * std::sqrt(expected) + 1e-9);
  }
  // Eight words of 64 bits map to three numbers: without rejection two of three would be more frequent.
  const int64_t high = int64_t{3} << 61;
  int64_t counts[3] = {};
  for (int64_t v : random_integers({n}, 0, high, generator).to_vector<int64_t>()) {
    REQUIRE(v >= 0);
    REQUIRE(v < high);
    ++counts[v % 3];
  }
  for (int64_t count : counts) CHECK(std::abs(static_cast<double>(count) - n / 3.0) < 6 * std::sqrt(n / 3.0));
}

TEST_CASE("random integers: dtypes, bounds, threads and prefixes") {
  const auto draw = [](Shape shape, DType dtype) {
    Generator generator(22);
    return random_integers(shape, -1000, 1000, generator, dtype);
  };
  const Tensor wide = draw({100, 401}, DType::i64);
  CHECK(wide.shape() == Shape{100, 401});
  CHECK(same_bits(draw({100, 401}, DType::i32).to(DType::i64), wide));
  CHECK(same_bits(draw({7}, DType::i64), wide.reshape({-1}).rows(0, 7)));
  CHECK(same_bits_on_any_threads([&] { return draw({100, 401}, DType::i64); }));
  for (Device device : devices()) {
    Generator generator(22);
    CHECK(same_bits(random_integers({100, 401}, -1000, 1000, generator, DType::i64, device), wide));
  }
  Generator generator(1);
  const int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  CHECK(random_integers({5}, least, least + 1, generator).to_vector<int64_t>() ==
        std::vector<int64_t>(5, least));
  CHECK(random_integers({5}, most - 1, most, generator).to_vector<int64_t>()[4] == most - 1);
  CHECK(random_integers({1000}, least, most, generator).numel() == 1000);
  CHECK(random_integers({5}, 0x7fffffff, 0x80000000, generator, DType::i32).to_vector<int32_t>() ==
        std::vector<int32_t>(5, 0x7fffffff));
  CHECK_THROWS_AS(random_integers({5}, 3, 3, generator), Error);
  CHECK_THROWS_AS(random_integers({5}, 0, 0x80000001, generator, DType::i32), Error);
  CHECK_THROWS_AS(random_integers({5}, 0, 2, generator, DType::f32), Error);
}

TEST_CASE("a random permutation has every number once, on every device and for any number of threads") {
  // One bucket, a full one, two, and several over several chunks.
  for (int64_t n : {0, 1, 2, 3, 1000, 32768, 32769, 500000, 3000001}) {
    CAPTURE(n);
    Generator generator(23);
    const Tensor drawn = random_permutation(n, generator);
    CHECK(generator.position() == 2);
    CHECK(drawn.dtype() == DType::i32);
    std::vector<int32_t> sorted = drawn.to_vector<int32_t>();
    std::sort(sorted.begin(), sorted.end());
    bool all = static_cast<int64_t>(sorted.size()) == n;
    for (size_t i = 0; i < sorted.size(); ++i) all = all && sorted[i] == static_cast<int32_t>(i);
    CHECK(all);
    for (int count : {1, 2, 4}) {
      const Threads threads(count);
      Generator again(23);
      CHECK(same_bits(random_permutation(n, again), drawn));
    }
    for (Device device : devices()) {
      Generator again(23);
      CHECK(same_bits(random_permutation(n, again, device), drawn));
    }
  }
  Generator generator(1);
  CHECK_THROWS_AS(random_permutation(-1, generator), Error);
  CHECK_THROWS_AS(random_permutation((int64_t{1} << 31) + 1, generator), Error);
}

TEST_CASE("a long permutation is unchanged, also if chunks begin within a block of draws") {
  Generator generator(5);
  uint64_t hash = 0;
  for (int32_t value : random_permutation(1'100'100, generator).to_vector<int32_t>())
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
  CHECK(hash == 17510711260380870952u);
}

TEST_CASE("all permutations are equally likely, and each number reaches every position") {
  Generator generator(24);
  std::map<std::vector<int32_t>, int> orders;
  const int draws = 48000;
  for (int i = 0; i < draws; ++i) ++orders[random_permutation(4, generator).to_vector<int32_t>()];
  CHECK(orders.size() == 24);
  for (const auto& [order, count] : orders) CHECK(std::abs(count - draws / 24) < 6 * std::sqrt(draws / 24));
  // Target tenths of the numbers of each tenth: over several buckets, equally.
  const int64_t n = 1000000, tenth = n / 10;
  const std::vector<int32_t> drawn = random_permutation(n, generator).to_vector<int32_t>();
  int counts[10][10] = {};
  for (int64_t i = 0; i < n; ++i) ++counts[i / tenth][drawn[uz(i)] / tenth];
  for (const auto& row : counts)
    for (int count : row) CHECK(std::abs(count - n / 100) < 6 * std::sqrt(n / 100));
  // Neighbours of one bucket are not left in order.
  int64_t ascents = 0;
  for (size_t i = 1; i < drawn.size(); ++i) ascents += drawn[i] > drawn[i - 1];
  CHECK(std::abs(static_cast<double>(ascents) - n / 2.0) < 6 * std::sqrt(n / 12.0));
}

TEST_CASE("DropoutRule rounds to sixteen bits and scales by the kept share") {
  const DropoutRule half = dropout_rule(0.5f);
  CHECK(half.threshold == 32768);
  CHECK(half.scale == 2.0f);
  CHECK(dropout_rule(0.0f).threshold == 0);
  CHECK(dropout_rule(0.0f).scale == 1.0f);
  CHECK(dropout_rule(0.9999999f).threshold == 65535);
  const DropoutRule tenth = dropout_rule(0.1f);
  CHECK(static_cast<double>(tenth.scale) * (65536 - tenth.threshold) / 65536 ==
        doctest::Approx(1.0).epsilon(1e-7));
  for (float p : {-0.1f, 1.0f, NAN}) CHECK_THROWS_AS(dropout_rule(p), Error);
}

TEST_CASE("dropout_keeps reads half-words in order, low half first") {
  const PhiloxBlock block{{0x00020001u, 0x00040003u, 0x00060005u, 0x00080007u}};
  for (int half = 0; half < 8; ++half) {
    CHECK(dropout_keeps(block, half, static_cast<uint32_t>(half + 1)));
    CHECK(!dropout_keeps(block, half, static_cast<uint32_t>(half + 2)));
  }
}
