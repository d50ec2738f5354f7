#include "bit_cases.h"
#include "gemm_cases.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/kernels/bits/bit_gemm.h>

#include <limits>
#include <random>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<int64_t> kSizes{1, 7, 8, 9, 31, 33, 127, 129, 1000};

/// Integers of that many bits, as floats [rows, cols].
Tensor random_integers(int64_t rows, int64_t cols, int bits) {
  return random_ints(rows * cols, 0, 1 << bits).to(DType::f32).reshape({rows, cols});
}

/// With one scale and one zero.
BitTensor bits_of(const Tensor& x, int bits, float scale, float zero, Device device,
                  PackedAlong along = PackedAlong::rows) {
  return to_bits(x.to(device), bits, scalar(scale, device), scalar(zero, device), along);
}

BitTensor packed(const Tensor& integers, int bits, PackedAlong along, Device device) {
  return bits_of(integers, bits, 1.0f, 0.0f, device, along);
}

void check_product(int64_t m, int64_t n, int64_t k, int bits_a, int bits_b) {
  CAPTURES(bits_a, bits_b, m, n, k);
  const Tensor a = random_integers(m, k, bits_a), b = random_integers(k, n, bits_b);
  const Numbers expected = values(multiplied({m, k, n}, a.to(DType::f64), b.to(DType::f64)));  // exact
  for (Device device : devices()) {
    const BitTensor x = packed(a, bits_a, PackedAlong::rows, device),
                    w = packed(b, bits_b, PackedAlong::columns, device);
    Tensor y = Tensor::full({m, n}, -1.0, DType::i32, device);
    for (bool by_counts : {false, true}) {
      kernels::bit_gemm({.a = x, .b = w, .by_counts = by_counts, .y = y});
      CHECK(values(y) == expected);
      y.zero_();
    }
    // The same numbers, a byte each.
    kernels::bit_gemm({.a = as_bytes(x), .b = as_bytes(w), .y = y});
    CHECK(values(y) == expected);
  }
}

}  // namespace

TEST_CASE("products of bit tensors equal those of their integers, for any bits") {
  size_t turn = 0;
  for (int bits_a = 1; bits_a <= 8; ++bits_a)
    for (int bits_b = 1; bits_b <= 8; ++bits_b, turn += 5)
      for (size_t t = turn % 3; t < kSizes.size(); t += 3)  // all sizes at every third pair of widths
        check_product(kSizes[t], kSizes[(t + turn) % kSizes.size()],
                      kSizes[(2 * t + turn + 1) % kSizes.size()], bits_a, bits_b);
}

TEST_CASE("products of bit tensors over several steps, and of none") {
  for (const auto& [bits_a, bits_b] : {std::pair{1, 1}, {3, 2}, {1, 8}}) {
    check_product(130, 300, 4100, bits_a, bits_b);
    check_product(257, 65, 1024, bits_a, bits_b);
    check_product(3, 129, 1025, bits_a, bits_b);
    check_product(0, 5, 10, bits_a, bits_b);
    check_product(5, 0, 10, bits_a, bits_b);
    check_product(4, 3, 0, bits_a, bits_b);
  }
}

TEST_CASE("products of many bits, computed as bytes on tensor cores") {
  check_product(1030, 900, 1111, 8, 8);
  check_product(1030, 1100, 2100, 7, 6);
}

TEST_CASE(
    "bit tensors are accurate to half a step, along rows and columns, with the same bits on every device") {
  for (int bits = 1; bits <= 8; ++bits)
    for (PackedAlong along : {PackedAlong::rows, PackedAlong::columns})
      for (const auto& [rows, cols] :
           std::vector<std::array<int64_t, 2>>{{1, 1}, {9, 33}, {70, 1100}, {1030, 45}})
        for (bool by_row : {false, true}) {
          CAPTURES(bits, rows, cols);
          const int64_t outer = along == PackedAlong::rows ? rows : cols;
          const Tensor x = random_tensor({rows, cols});
          std::vector<float> scale(uz(by_row ? outer : 1)), zero(scale.size());
          for (size_t i = 0; i < scale.size(); ++i) {
            scale[i] = 0.02f + 0.001f * static_cast<float>(i % 7);
            zero[i] = static_cast<float>(1 << (bits - 1)) - 0.5f + static_cast<float>(i % 3);
          }
          const BitTensor host = to_bits(x, bits, Tensor::from(scale), Tensor::from(zero), along);
          const std::vector<float> got = to_values(host, along).to_vector<float>(),
                                   wanted = x.to_vector<float>();
          std::vector<int32_t> sums(uz(outer));
          for (size_t i = 0; i < got.size(); ++i) {
            const auto columns = uz(cols);
            const size_t o = along == PackedAlong::rows ? i / columns : i % columns;
            const float s = scale[by_row ? o : 0], z = zero[by_row ? o : 0];
            const float lowest = -s * z, highest = s * (static_cast<float>(host.largest()) - z);
            if (!(std::abs(got[i] - std::clamp(wanted[i], lowest, highest)) <= 0.5001f * s))
              FAIL_CHECK(i, ": ", got[i], " for ", wanted[i]);
            sums[o] += static_cast<int32_t>(std::lround(got[i] / s + z));
          }
          CHECK(host.sums.to_vector<int32_t>() == sums);
          for (Device device : devices()) {
            const BitTensor remote =
                to_bits(x.to(device), bits, Tensor::from(scale, device), Tensor::from(zero, device), along);
            CHECK(same_bits(remote.planes, host.planes));
            CHECK(remote.sums.to_vector<int32_t>() == sums);
            CHECK(to_values(remote, along).to_vector<float>() == got);
          }
        }
}

TEST_CASE("ranges cover all finite numbers, with an exact 0 if affine, the same on every device") {
  for (const auto& [rows, cols] : std::vector<std::array<int64_t, 2>>{{1, 1}, {40, 3}, {70, 900}, {5, 0}})
    for (PackedAlong along : {PackedAlong::rows, PackedAlong::columns})
      for (BitRange range : {BitRange::affine, BitRange::symmetric})
        for (bool by_row : {false, true})
          for (int bits : {1, 4, 8}) {
            CAPTURES(rows, cols, bits, by_row, range == BitRange::affine, along == PackedAlong::rows);
            std::vector<float> numbers = random_tensor({rows, cols}).to_vector<float>();
            for (size_t i = 0; i < numbers.size(); i += 7) numbers[i] = i % 2 == 0 ? NAN : -HUGE_VALF;
            for (size_t i = 3; i < numbers.size(); i += 9) numbers[i] = 0.0f;
            const Tensor x = Tensor::from(numbers, Shape{rows, cols});
            const BitTensor host = to_bits(x, bits, along, range, by_row);
            const std::vector<float> got = to_values(host, along).to_vector<float>(),
                                     scale = host.scale.to_vector<float>();
            for (size_t i = 0; i < got.size(); ++i) {
              if (!std::isfinite(numbers[i])) continue;
              const auto columns = uz(cols);
              const size_t o = along == PackedAlong::rows ? i / columns : i % columns;
              const float step = scale[by_row ? o : 0];
              if (!(std::abs(got[i] - numbers[i]) <= 1.0001f * step)) FAIL_CHECK(got[i], " for ", numbers[i]);
              if (range == BitRange::affine && numbers[i] == 0.0f) CHECK(got[i] == 0.0f);
            }
            for (Device device : devices()) {
              const BitTensor remote = to_bits(x.to(device), bits, along, range, by_row);
              CHECK(remote.scale.to_vector<float>() == scale);
              CHECK(remote.zero.to_vector<float>() == host.zero.to_vector<float>());
            }
          }
  for (Device device : devices()) {
    const BitTensor zeros = to_bits(Tensor::zeros({3, 4}, DType::f32, device), 2);
    CHECK(zeros.scale.to_vector<float>() == std::vector<float>{1.0f});
    CHECK(to_values(zeros).to_vector<float>() == std::vector<float>(12, 0.0f));
    // The largest float32 stays finite.
    constexpr float kMost = std::numeric_limits<float>::max();
    const Tensor huge = Tensor::from<float>({-kMost, kMost, -kMost}, Shape{3, 1}, device);
    for (BitRange range : {BitRange::affine, BitRange::symmetric})
      for (int bits = 1; bits <= 8; ++bits)
        for (int64_t rows : {1, 2, 3})  // of one sign, or of both
          for (float number :
               to_values(to_bits(huge.rows(0, rows), bits, PackedAlong::rows, range)).to_vector<float>())
            CHECK(std::isfinite(number));
    // One bit represents two numbers, and a constant exactly.
    const Tensor signs = Tensor::from<float>({-3.0f, 3.0f, 3.0f, -3.0f}, Shape{2, 2}, device);
    CHECK(to_values(to_bits(signs, 1, PackedAlong::rows, BitRange::symmetric)).to_vector<float>() ==
          signs.to_vector<float>());
    CHECK(to_values(to_bits(Tensor::full({2, 3}, -5.0, DType::f32, device), 1)).to_vector<float>() ==
          std::vector<float>(6, -5.0f));
  }
}

TEST_CASE("numbers outside a bit tensor's range are clamped to it") {
  const Tensor x = Tensor::from<float>(
      {-INFINITY, -9.0f, 0.0f, 0.49f, 0.5f, 1.5f, 2.5f, 7.4f, 9.0f, 1e30f, INFINITY, NAN}, Shape{1, 12});
  for (Device device : devices()) {
    const auto held = [&](const Tensor& numbers, int bits, float scale, float zero) {
      return to_values(bits_of(numbers, bits, scale, zero, device)).to_vector<float>();
    };
    CHECK(held(x, 3, 1.0f, 0.0f) == std::vector<float>{0, 0, 0, 0, 0, 2, 2, 7, 7, 7, 7, 0});
    CHECK(held(Tensor::full({3, 5}, 2.0), 1, 2.0f, 0.0f) == std::vector<float>(15, 2.0f));
    CHECK(held(Tensor::zeros({2, 2}), 8, 0.1f, 128.0f) == std::vector<float>(4, 0.0f));
  }
}

TEST_CASE("float products of bit tensors are products of the numbers that their bits represent") {
  for (int bits : {1, 2, 4, 8}) {
    CAPTURE(bits);
    const Tensor x = random_tensor({70, 200}), w = random_tensor({200, 33});
    std::vector<float> scale(33);
    for (size_t i = 0; i < scale.size(); ++i) scale[i] = 0.01f * static_cast<float>(1 + i);
    Alike alike;
    for (Device device : devices()) {
      const BitTensor a = bits_of(x, bits, 0.05f, static_cast<float>(1 << bits) / 2, device),
                      b = to_bits(w.to(device), bits, Tensor::from(scale, device), scalar(1.25f, device),
                                  PackedAlong::columns);
      Tensor y = Tensor::empty({70, 33}, DType::f32, device);
      kernels::bit_gemm({.a = a, .b = b, .y = y});
      CHECK(worst_error({70, 200, 33}, to_values(a), to_values(b, PackedAlong::columns), values(y)) <= 1e-6);
      alike(y);
    }
  }
}

TEST_CASE("products to bits are the float product, scaled, shifted and quantised") {
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{70, 33, 200}, {131, 300, 1100}, {9, 1030, 64}})
    for (int bits : {1, 2, 4})
      for (int bits_to : {1, 3, 8})
        for (int ends : {0, 1, 2}) {  // none, of columns, of both
          CAPTURES(m, n, bits, bits_to, ends);
          const Tensor x = random_tensor({m, k}), w = random_tensor({k, n}), scale = random_tensor({n}),
                       shift = random_tensor({n}), row_scale = random_tensor({m}),
                       row_shift = random_tensor({m});
          const float step = 8.0f * std::sqrt(static_cast<float>(k)) / static_cast<float>(1 << bits_to);
          Alike alike;
          for (Device device : devices()) {
            const float zero = static_cast<float>(1 << bits) / 2;
            const BitTensor a = bits_of(x, bits, 3.0f / zero, zero, device),
                            b = bits_of(w, bits, 2.5f / zero, zero, device, PackedAlong::columns);
            const auto operand = [&](bool present, const Tensor& t) {
              return present ? t.to(device) : Tensor();
            };
            const Activation activation = ends > 0 ? Activation::relu : Activation::none;
            const auto multiply = [&](const BitTensor& left, const BitTensor& right, BitTensor& output) {
              kernels::bit_gemm_to_bits({.a = left,
                                         .b = right,
                                         .row_scale = operand(ends == 2, row_scale),
                                         .row_shift = operand(ends == 2, row_shift),
                                         .column_scale = operand(ends > 0, scale),
                                         .column_shift = operand(ends > 0, shift),
                                         .activation = activation,
                                         .output = output});
            };
            BitTensor q = empty_bits(m, n, bits_to, step,
                                     ends > 0 ? 0.25f : static_cast<float>(1 << bits_to) / 2, device);
            multiply(a, b, q);
            Tensor y = Tensor::empty({m, n}, DType::f32, device), with_bias = Tensor::empty_like(y);
            kernels::bit_gemm({.a = a, .b = b, .y = y});
            kernels::bit_gemm({.a = a, .b = b, .bias = shift.to(device), .y = with_bias});
            CHECK(same_bits(with_bias, (Var(y) + Var(shift.to(device))).value()));
            Numbers value = values(y);
            const Numbers s = values(scale), t = values(shift), rs = values(row_scale),
                          rt = values(row_shift);
            for (size_t i = 0; ends > 0 && i < value.size(); ++i) {
              const size_t r = i / uz(n), c = i % uz(n);
              value[i] =
                  std::max(0.0, ends == 2 ? value[i] * rs[r] * s[c] + rt[r] + t[c] : value[i] * s[c] + t[c]);
            }
            const Numbers got = values(to_values(q));
            const double of_zero = values(q.zero)[0];
            std::vector<int32_t> wanted_sums(uz(m));
            for (size_t i = 0; i < got.size(); ++i) {
              const double held = std::clamp(value[i], -of_zero * step, (q.largest() - of_zero) * step);
              if (!(std::abs(got[i] - held) <= 0.5001 * step))
                FAIL_CHECK(i, ": ", got[i], ", expected ", held);
              wanted_sums[i / uz(n)] += static_cast<int32_t>(std::lround(got[i] / step + of_zero));
            }
            CHECK(q.sums.to_vector<int32_t>() == wanted_sums);
            BitTensor in_bytes = BitTensor::empty(m, n, bits_to, q.scale, q.zero, device, true);
            multiply(as_bytes(a), as_bytes(b), in_bytes);
            CHECK(same_bits(in_bytes.sums, q.sums));
            CHECK(same_bits(in_bytes.planes, as_bytes(q).planes));
            if (ends < 2) {
              ByteTensor bytes = ByteTensor::empty(m, n, bits_to, q.scale, q.zero, device);
              kernels::bit_gemm_to_bytes({.a = a,
                                          .b = b,
                                          .column_scale = operand(ends > 0, scale),
                                          .column_shift = operand(ends > 0, shift),
                                          .activation = activation,
                                          .output = bytes});
              const auto held = bytes.bytes.to_vector<uint8_t>();
              const kernels::ByteRows places(bytes);
              for (size_t i = 0; i < got.size(); ++i)
                if (const int number =
                        places.at(held.data(), static_cast<int64_t>(i) / n, static_cast<int64_t>(i) % n);
                    number != std::lround(got[i] / step + of_zero))
                  FAIL_CHECK(i, ": q ", number);
            }
            alike(q.planes);
          }
        }
}

TEST_CASE("a threshold gives the same bit as requantising, for every sum") {
  std::mt19937 random(11);
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  constexpr float kTiny = std::numeric_limits<float>::denorm_min(), kHuge = std::numeric_limits<float>::max();
  constexpr int kInner = 37, kMost = 2;  // a of 1 bit, b of 2
  for (int round = 0; round < 300; ++round) {
    const float zero_a = static_cast<float>(round % 3) / 2, zero_b = static_cast<float>(round % 7) / 2,
                scales[] = {number(-1, 1), 0.0f, -0.0f, kTiny, kHuge, -kHuge, number(-1e-6f, 1e-6f), NAN},
                shifts[] = {number(-3, 3), 0.0f, number(-300, 300), INFINITY, NAN},
                to_zero = round % 5 == 0 ? number(-1, 2) : static_cast<float>(round % 2);
    const kernels::BitColumn columns[2] = {
        {scales[round % 8], zero_b, static_cast<float>(round % 11), shifts[round % 5]},
        {scales[0], zero_b, static_cast<float>(kInner * kMost), shifts[0]}};
    const int row_sum = round % (kInner + 1);
    const kernels::BitRow row{.scale = number(0, 2),
                              .zero = zero_a,
                              .shift = 0.0f,
                              .rest = std::fma(float{kInner}, zero_a, -static_cast<float>(row_sum)),
                              .inverse = 1.0f / number(0.01f, 20),
                              .to_zero = to_zero,
                              .least = round % 4 < 2 ? 0.0f : std::max(to_zero, 0.0f)};
    kernels::BitThreshold thresholds[2];
    kernels::bit_thresholds(row, columns, thresholds);
    const int four_a = kernels::four_zeros(zero_a, 1), four_b = kernels::four_zeros(zero_b, 3);
    REQUIRE(four_a == round % 3 * 2);
    REQUIRE(four_b == round % 7 * 2);
    for (int c = 0; c < 2; ++c)
      for (int32_t sum = 0; sum <= kInner * 3; ++sum) {
        const int32_t four = 4 * sum - four_a * static_cast<int32_t>(columns[c].sum) +
                             four_a / 2 * (four_b / 2) * kInner - four_b * row_sum;
        const bool bit = (four >= thresholds[c].least) != thresholds[c].inverted;
        if (bit != (kernels::requantized(sum, row, columns[c], 1) == 1))
          FAIL_CHECK("round ", round, ", column ", c, ", sum ", sum, ": ", bit);
      }
  }
  CHECK(kernels::four_zeros(0.25f, 3) == -1);
  CHECK(kernels::four_zeros(3.5f, 3) == -1);
  CHECK(kernels::four_zeros(-0.5f, 3) == -1);
  CHECK(kernels::four_zeros(NAN, 3) == -1);
}

TEST_CASE("products to one bit by thresholds and without are the same on every device") {
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{70, 33, 200}, {300, 520, 3000}, {5, 1, 1}, {1000, 64, 1100}})
    for (int bits : {1, 2, 3})
      for (float zero : {0.0f, 0.5f, 0.3f}) {  // the last one is not a multiple of 1/2
        CAPTURES(m, bits, zero);
        const Tensor x = random_tensor({m, k}), w = random_tensor({k, n}), scale = random_tensor({n}),
                     shift = random_tensor({n});
        Alike same_planes, same_sums;
        for (Device device : devices()) {
          const BitTensor a = bits_of(x, bits, 0.7f, zero, device),
                          b = bits_of(w, 1, 1.9f, 0.5f, device, PackedAlong::columns);
          BitTensor q = empty_bits(m, n, 1, 2.0f, zero / 2, device);
          kernels::bit_gemm_to_bits({.a = a,
                                     .b = b,
                                     .column_scale = scale.to(device),
                                     .column_shift = shift.to(device),
                                     .activation = bits == 2 ? Activation::none : Activation::relu,
                                     .output = q});
          same_planes(q.planes);
          same_sums(q.sums);
        }
      }
}

TEST_CASE("products that skip steps without a bit are the same") {
  constexpr int64_t kRows = 700, kInner = 5000;
  std::vector<float> numbers(uz(kRows * kInner));
  std::mt19937 random(5);
  // Tiles of 128 rows: none in the first, few steps in others, only the last step in one.
  const auto put = [&](int64_t row, int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) numbers[uz(row * kInner + k)] = static_cast<float>(random() % 4);
  };
  for (int64_t row = 128; row < 256; ++row) put(row, 1000, 1100);
  put(300, 2048, 2049);
  put(383, 4990, 5000);
  for (int64_t row = 512; row < 700; ++row) put(row, 0, kInner);
  const Tensor x = Tensor::from(numbers, Shape{kRows, kInner});
  Alike same_counts;
  for (Device device : devices())
    for (int bits_b : {1, 3, 4, 8})
      for (int64_t n : {9, 100, 300}) {
        CAPTURES(bits_b, n);
        const BitTensor a = bits_of(x, 2, 1.0f, 0.0f, device),
                        b = to_bits(random_tensor({kInner, n}).to(device), bits_b, PackedAlong::columns);
        const BitSteps steps = bit_steps(a);
        const auto counts = steps.counts.to_vector<int32_t>();
        same_counts(steps.counts);
        CHECK(counts[0] == 0);
        CHECK(counts[1] == 2);
        CHECK(counts[4] == 5);
        const auto list = steps.list.to_vector<int32_t>();
        CHECK(std::vector<int32_t>(list.begin() + 5, list.begin() + 7) == std::vector<int32_t>{0, 1});
        Tensor y = Tensor::empty({kRows, n}, DType::i32, device), wanted = Tensor::empty_like(y);
        kernels::bit_gemm({.a = a, .b = b, .steps = &steps, .y = y});
        kernels::bit_gemm({.a = a, .b = b, .y = wanted});
        CHECK(same_bits(y, wanted));
        BitTensor q = empty_bits(kRows, n, 3, 50.0f, 2.0f, device),
                  wanted_q = empty_bits(kRows, n, 3, 50.0f, 2.0f, device);
        kernels::bit_gemm_to_bits({.a = a, .b = b, .steps = &steps, .output = q});
        kernels::bit_gemm_to_bits({.a = a, .b = b, .output = wanted_q});
        CHECK(same_bits(q.planes, wanted_q.planes));
        CHECK(same_bits(q.sums, wanted_q.sums));
        const BitTensor fewer = to_bits(x.rows(0, 640).to(device), 2);
        CHECK_THROWS_AS(kernels::bit_gemm({.a = fewer, .b = b, .steps = &steps, .y = y}), Error);
      }
}

TEST_CASE("products of more tiles than a GPU has multiprocessors") {
  if (cuda_device_count() == 0) {
    MESSAGE("skipped: compares a GPU with the CPU");
    return;
  }
  for (const auto& [m, n, k, bits_a, bits_b] : std::vector<std::array<int64_t, 5>>{
           {20'000, 70, 100, 1, 2}, {40'000, 9, 3000, 1, 4}, {19'000, 300, 1100, 2, 1}}) {
    const Tensor x = random_tensor({m, k}), w = random_tensor({k, n});
    Alike same_products, same_planes;
    for (Device device : devices()) {
      const BitTensor a = to_bits(x.to(device), bits_a),
                      b = to_bits(w.to(device), bits_b, PackedAlong::columns);
      Tensor y = Tensor::empty({m, n}, DType::i32, device);
      kernels::bit_gemm({.a = a, .b = b, .y = y});
      BitTensor q = empty_bits(m, n, 2, 3.0f, 1.0f, device);
      kernels::bit_gemm_to_bits({.a = a, .b = b, .output = q});
      same_products(y);
      same_planes(q.planes);
    }
  }
}

TEST_CASE("bit tensors of more rows and more steps than a grid's y counts blocks") {
  constexpr int64_t kInner = int64_t{65'536} * BitTensor::kStepBits + 3, kOuter = 65'536 * 16 + 5;
  for (Device device : devices()) {
    // One every 1,000,003 numbers.
    std::vector<float> numbers(uz(kInner), 0.0f);
    for (size_t i = 0; i < numbers.size(); i += 1'000'003) numbers[i] = 1.0f;
    numbers.back() = 1.0f;
    const auto ones = static_cast<int32_t>((kInner + 1'000'002) / 1'000'003 + 1);
    const Tensor row = Tensor::from(numbers, {1, kInner}, device);
    for (PackedAlong along : {PackedAlong::rows, PackedAlong::columns}) {
      const Tensor x = along == PackedAlong::rows ? row : row.reshape({kInner, 1});
      const BitTensor q = bits_of(x, 1, 1.0f, 0.0f, device, along);
      CHECK(q.sums.to_vector<int32_t>() == std::vector<int32_t>{ones});
      const Tensor planes = q.planes.to(Device::cpu());
      CHECK(planes.data<uint8_t>()[bit_place(q.step_bytes(), 0, kInner - 1)] == 1 << (kInner - 1) % 8);
    }
    // Numbers 0 to 3 by two ones.
    std::vector<float> two(uz(2 * kOuter));
    std::vector<int32_t> expected(uz(kOuter));
    for (size_t o = 0; o < expected.size(); ++o) {
      two[2 * o] = static_cast<float>(o % 4);
      two[2 * o + 1] = static_cast<float>(o / 4 % 4);
      expected[o] = static_cast<int32_t>(o % 4 + o / 4 % 4);
    }
    const BitTensor many = packed(Tensor::from(two, {kOuter, 2}), 2, PackedAlong::rows, device),
                    few = packed(Tensor::full({1, 2}, 1.0), 1, PackedAlong::rows, device);
    for (bool by_counts : {false, true}) {
      CAPTURE(by_counts);
      Tensor y = Tensor::full({1, kOuter}, -1.0, DType::i32, device),
             turned = Tensor::full({kOuter, 1}, -1.0, DType::i32, device);
      kernels::bit_gemm({.a = few, .b = many, .by_counts = by_counts, .y = y});
      kernels::bit_gemm({.a = many, .b = few, .by_counts = by_counts, .y = turned});
      CHECK(y.to_vector<int32_t>() == expected);
      CHECK(turned.to_vector<int32_t>() == expected);
    }
  }
}

TEST_CASE("errors of bit tensors and their products") {
  const Tensor one = scalar(1.0f), x = Tensor::zeros({4, 6});
  CHECK_ERROR(to_bits(x, 0, one, one), "bit tensor: expected 1 to 8 bits, got 0");
  CHECK_ERROR(to_bits(x, 9, one, one), "bit tensor: expected 1 to 8 bits, got 9");
  CHECK_ERROR(to_bits(x, 2, Tensor::zeros({3}), one),
              "pack_bits: scale and zero are [3] float32 on cpu and [1] float32 on cpu, expected float32 [1] "
              "or [4] on cpu");
  const BitTensor a = to_bits(x, 8, one, one), b = to_bits(x, 8, one, one, PackedAlong::columns);
  Tensor y = Tensor::empty({4, 6}, DType::i32);
  const BitTensor fitting = to_bits(Tensor::zeros({6, 2}), 8, one, one, PackedAlong::columns);
  const Tensor bias = Tensor::zeros({2}), wrong_bias = Tensor::zeros({3});
  Tensor integers = Tensor::empty({4, 2}, DType::i32), floats = Tensor::empty({4, 2}, DType::f32);
  CHECK_ERROR_HAS(kernels::bit_gemm({.a = a, .b = fitting, .bias = bias, .y = integers}),
                  "a bias is for float32");
  CHECK_ERROR_HAS(kernels::bit_gemm({.a = a, .b = fitting, .bias = wrong_bias, .y = floats}),
                  "bit_gemm: bias");
  CHECK_ERROR(kernels::bit_gemm({.a = a, .b = b, .y = y}),
              "bit_gemm: a has 6 numbers in a row, b 4 in a column");
  const BitTensor wide = to_bits(Tensor::zeros({1, 40000}), 8, one, one);
  Tensor sum = Tensor::empty({1, 1}, DType::i32);
  CHECK_ERROR(kernels::bit_gemm({.a = wide, .b = wide, .y = sum}),
              "bit_gemm: sums over 40000 products of 8 by 8 bits are more than 31 bits");
}
