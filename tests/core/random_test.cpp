#include "../support.h"
#include <adjoint/core/random.h>

#include <cmath>

#include <doctest/doctest.h>

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
  for (int count : {1, 2, 4}) {
    const Threads threads(count);
    CHECK(same_bits(draw(1, 0), first));
  }
  CHECK(!same_bits(draw(2, 0), first));
  CHECK(!same_bits(draw(1, 1), first));
  CHECK(close(first, draw(1, 0, DType::f64), 1e-6));
  // A longer tensor begins as a shorter one.
  Generator generator(1);
  CHECK(same_bits(random_normal({10}, 0.0, 1.0, generator), first.rows(0, 10)));
}

TEST_CASE("uniform and normal numbers have their moments and stay in range") {
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
  CHECK(largest <= 3.0);
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

TEST_CASE("to_uniform covers [0, 1)") {
  CHECK(to_uniform(0) == 0.0f);
  CHECK(to_uniform(0xffffffffu) < 1.0f);
  CHECK(to_uniform(0x80000000u) == 0.5f);
}

TEST_CASE("a generator hands out streams and can be set back") {
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

TEST_CASE("a captured step draws from the streams that the eager step would") {
  Generator generator(3);
  generator.next();
  generator.next();
  uint64_t base = generator.position();
  generator.begin_capture(&base);
  CHECK(generator.capturing());
  CHECK_THROWS_AS(generator.set_state(0, 0), Error);
  CHECK_THROWS_AS(generator.begin_capture(&base), Error);
  const RandomKey a = generator.next(), b = generator.next();
  const uint64_t used = generator.end_capture();
  CHECK(used == 2);
  CHECK(generator.position() == 2);
  CHECK(stream_of(a) == 2);
  CHECK(stream_of(b) == 3);
  base += used;  // as a replay does
  CHECK(stream_of(a) == 4);
}

TEST_CASE("DropoutRule rounds to sixteen bits and scales by what is kept") {
  const DropoutRule half = DropoutRule::of(0.5f);
  CHECK(half.threshold == 32768);
  CHECK(half.scale == 2.0f);
  CHECK(DropoutRule::of(0.0f).threshold == 0);
  CHECK(DropoutRule::of(0.0f).scale == 1.0f);
  CHECK(DropoutRule::of(0.9999999f).threshold == 65535);
  const DropoutRule tenth = DropoutRule::of(0.1f);
  CHECK(static_cast<double>(tenth.scale) * (65536 - tenth.threshold) / 65536 ==
        doctest::Approx(1.0).epsilon(1e-7));
  for (float p : {-0.1f, 1.0f, std::nanf("")}) CHECK_THROWS_AS(DropoutRule::of(p), Error);
}

TEST_CASE("dropout_keeps reads half-words in order, the low half first") {
  const PhiloxBlock block{{0x00020001u, 0x00040003u, 0x00060005u, 0x00080007u}};
  for (int half = 0; half < 8; ++half) {
    CHECK(dropout_keeps(block, half, static_cast<uint32_t>(half + 1)));
    CHECK(!dropout_keeps(block, half, static_cast<uint32_t>(half + 2)));
  }
}
