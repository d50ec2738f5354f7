#include "../support.h"
#include <adjoint/kernels/bits/bit_calibration.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace adj;
using namespace adj::test;

namespace {

constexpr float kHuge = std::numeric_limits<float>::max();

/// The numbers of each set that shares a range.
std::vector<std::vector<float>> sets_of(const Tensor& x, const CalibrationOptions& o) {
  const std::vector<float> all = x.to_vector<float>();
  if (!o.by_row) return {all};
  const int64_t cols = x.size(1);
  std::vector<std::vector<float>> sets(uz(outer_of(x, o.along)));
  for (size_t i = 0; i < all.size(); ++i)
    sets[o.along == PackedAlong::rows ? i / uz(cols) : i % uz(cols)].push_back(all[i]);
  for (auto& set : sets) std::erase_if(set, [](float value) { return !std::isfinite(value); });
  return sets;
}

/// scale and zero by the definition in BitRange.
std::pair<float, float> scale_of(float least, float largest, BitRange range, int bits) {
  const auto last = static_cast<float>((1 << bits) - 1);
  least = std::min(least, 0.0f);
  largest = std::max(largest, 0.0f);
  if (range == BitRange::symmetric) {
    const float most = std::max(-least, largest);
    return {most > 0.0f ? 2.0f * most / last : 1.0f, last / 2.0f};
  }
  const float scale = (largest - least) / last;
  return scale > 0.0f ? std::pair{scale, std::nearbyint(-least / scale)} : std::pair{1.0f, 0.0f};
}

double error_of(const std::vector<float>& x, float scale, float zero, int bits) {
  double sum = 0.0;
  for (float value : x) {
    const float q =
        std::clamp(std::nearbyint(value / scale + zero), 0.0f, static_cast<float>((1 << bits) - 1));
    sum += std::pow(static_cast<double>(value) - static_cast<double>(scale * (q - zero)), 2);
  }
  return sum;
}

bool near(float a, float b) { return std::abs(a - b) <= 1e-6f * std::abs(b); }

/// Normal numbers, a few of them ten times as large; one side more than the other.
Tensor with_outliers(int64_t rows, int64_t cols) {
  std::vector<float> x = random_tensor({rows, cols}).to_vector<float>();
  for (size_t i = 0; i < x.size(); i += 97) x[i] *= i % 2 == 0 ? 10.0f : 4.0f;
  for (float& value : x) value += 0.3f;
  return Tensor::from(x, {rows, cols});
}

/// Calls f(x, options, bits) for shapes, ranges and sets of every kind.
template <class F>
void for_cases(Calibration method, F&& f) {
  for (const auto& [rows, cols] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{1, 1}, {3, 40}, {70, 211}, {9, 1100}})
    for (PackedAlong along : {PackedAlong::rows, PackedAlong::columns})
      for (BitRange range : {BitRange::affine, BitRange::symmetric})
        for (bool by_row : {false, true}) {
          const Tensor x = with_outliers(rows, cols);
          for (int bits : {1, 2, 4, 8}) {
            CAPTURES(rows, cols, bits, by_row, range == BitRange::affine, along == PackedAlong::rows);
            f(x, CalibrationOptions{.method = method, .along = along, .range = range, .by_row = by_row},
              bits);
          }
        }
}

bool alike(const BitScales& a, const BitScales& b) {
  return a.scale.to_vector<float>() == b.scale.to_vector<float>() &&
         a.zero.to_vector<float>() == b.zero.to_vector<float>();
}

}  // namespace

TEST_CASE("minmax calibration equals the default ranges of bit tensors") {
  for_cases(Calibration::minmax, [](const Tensor& x, const CalibrationOptions& o, int bits) {
    const BitTensor expected = to_bits(x, bits, o.along, o.range, o.by_row);
    CHECK(alike(calibrate(x, bits, o), {expected.scale, expected.zero}));
    CHECK(same_bits(to_bits(x, bits, o).planes, expected.planes));
  });
}

TEST_CASE("percentiles hold a share of the numbers") {
  for_cases(Calibration::percentile, [](const Tensor& x, CalibrationOptions o, int bits) {
    const auto sets = sets_of(x, o);
    for (double share : {0.5, 0.9, 0.999, 1.0}) {
      CAPTURE(share);
      o.share = share;
      const BitScales found = calibrate(x, bits, o);
      REQUIRE(found.scale.numel() == static_cast<int64_t>(sets.size()));
      for (size_t s = 0; s < sets.size(); ++s) {
        std::vector<float> sorted = sets[s];
        if (o.range == BitRange::symmetric)
          for (float& value : sorted) value = std::abs(value);
        std::sort(sorted.begin(), sorted.end());
        const size_t held = uz(std::ceil(share * static_cast<double>(sorted.size()))),
                     cut = (sorted.size() - held) / 2;
        const float most = sorted[held - 1];
        const auto [scale, zero] =
            o.range == BitRange::symmetric
                ? scale_of(-most, most, o.range, bits)
                : scale_of(sorted[cut], sorted[sorted.size() - 1 - cut], o.range, bits);
        CHECK(near(found.scale.to_vector<float>()[s], scale));
        CHECK(found.zero.to_vector<float>()[s] == zero);
      }
    }
    o.share = 1.0;
    CalibrationOptions all = o;
    all.method = Calibration::minmax;
    CHECK(alike(calibrate(x, bits, o), calibrate(x, bits, all)));
  });
}

TEST_CASE("least squares take the part of the range with the least error") {
  for_cases(Calibration::least_squares, [](const Tensor& x, CalibrationOptions o, int bits) {
    const auto sets = sets_of(x, o);
    o.parts = 20;
    const BitScales found = calibrate(x, bits, o);
    for (size_t s = 0; s < sets.size(); ++s) {
      const auto [least, largest] = std::minmax_element(sets[s].begin(), sets[s].end());
      double best = INFINITY;
      bool is_candidate = false;
      const float scale = found.scale.to_vector<float>()[s], zero = found.zero.to_vector<float>()[s];
      for (int part = 1; part <= o.parts; ++part) {
        const float factor = static_cast<float>(part) / static_cast<float>(o.parts);
        const auto [a, b] =
            scale_of(factor * std::min(*least, 0.0f), factor * std::max(*largest, 0.0f), o.range, bits);
        best = std::min(best, error_of(sets[s], a, b, bits));
        is_candidate = is_candidate || (near(scale, a) && zero == b);
      }
      CHECK(is_candidate);
      CHECK(error_of(sets[s], scale, zero, bits) <= best * (1.0 + 1e-4) + 1e-9);
    }
  });
}

TEST_CASE("least squares ignore outliers, and find the mean for one bit") {
  std::vector<float> numbers = random_tensor({100, 100}).to_vector<float>();
  const CalibrationOptions one{.method = Calibration::least_squares, .range = BitRange::symmetric};
  double mean = 0.0, most = 0.0;
  for (float value : numbers) {
    mean += std::abs(static_cast<double>(value)) / 10'000.0;
    most = std::max(most, std::abs(static_cast<double>(value)));
  }
  // ±m has the least error for the mean of |x|.
  const double m = calibrate(Tensor::from(numbers, {100, 100}), 1, one).scale.item() / 2.0;
  CHECK(std::abs(m - mean) <= most / 100.0);

  numbers[17] = 40.0f;
  const Tensor x = Tensor::from(numbers, {100, 100});
  for (BitRange range : {BitRange::affine, BitRange::symmetric})
    for (Calibration method : {Calibration::percentile, Calibration::least_squares}) {
      CalibrationOptions o{.method = method, .range = range};
      const BitTensor held = to_bits(x, 4, o), all = to_bits(x, 4, PackedAlong::rows, range);
      CHECK(held.scale.item() < 0.5 * all.scale.item());
      if (method == Calibration::least_squares)
        CHECK(error_of(numbers, static_cast<float>(held.scale.item()), static_cast<float>(held.zero.item()),
                       4) < error_of(numbers, static_cast<float>(all.scale.item()),
                                     static_cast<float>(all.zero.item()), 4));
    }
}

TEST_CASE("calibration has the same bits on every device and any number of threads") {
  const Tensor x = with_outliers(130, 1000);
  for (Calibration method : {Calibration::minmax, Calibration::percentile, Calibration::least_squares})
    for (bool by_row : {false, true}) {
      const CalibrationOptions o{.method = method, .by_row = by_row};
      const BitScales first = calibrate(x, 3, o);
      for (int threads : {1, 2, 5}) {
        const Threads scope(threads);
        CHECK(alike(calibrate(x, 3, o), first));
      }
      for (Device device : devices()) {
        const BitScales scales = calibrate(x.to(device), 3, o);
        CHECK(scales.scale.device() == device);
        CHECK(scales.zero.device() == device);
        CHECK(alike(scales, first));
      }
    }
}

TEST_CASE("calibration of constants, zeros, nothing, and numbers that are not finite or huge") {
  for (Calibration method : {Calibration::minmax, Calibration::percentile, Calibration::least_squares})
    for (BitRange range : {BitRange::affine, BitRange::symmetric})
      for (bool by_row : {false, true})
        for (int bits : {1, 3, 8}) {
          CAPTURES(static_cast<int>(method), range == BitRange::affine, by_row, bits);
          const CalibrationOptions o{.method = method, .range = range, .by_row = by_row};
          for (double constant : {5.0, -5.0, 1e30, 0.0}) {
            const Tensor x = Tensor::full({3, 50}, constant);
            // A constant is the end of its range; 0 has no integer in a symmetric one.
            if (constant != 0.0 || range == BitRange::affine)
              CHECK(close(to_values(to_bits(x, bits, o)), x, 1e-6));
          }
          for (const Tensor& nothing :
               {Tensor::zeros({3, 50}), Tensor::empty({3, 0}), Tensor::full({3, 4}, NAN)})
            CHECK(calibrate(nothing, bits, o).scale.to_vector<float>() ==
                  std::vector<float>(by_row ? 3 : 1, 1.0f));
          CHECK(calibrate(Tensor::empty({0, 5}), bits, o).scale.numel() == (by_row ? 0 : 1));
          // Non-finite numbers are ignored.
          std::vector<float> some = random_tensor({2, 30}).to_vector<float>();
          const std::vector<float> row(some.begin(), some.begin() + 30);
          some.insert(some.begin() + 7, {NAN, INFINITY, -INFINITY});
          some.resize(33);
          CHECK(alike(calibrate(Tensor::from(some, {1, 33}), bits, o),
                      calibrate(Tensor::from(row, {1, 30}), bits, o)));
          for (const std::vector<float>& ends :
               {std::vector<float>{-kHuge, kHuge, 1.0f}, std::vector<float>{kHuge, kHuge, 0.0f},
                std::vector<float>{-kHuge, 1.0f, 2.0f}, std::vector<float>{1e-45f, -1e-45f, 0.0f}}) {
            const BitScales found = calibrate(Tensor::from(ends, {1, 3}), bits, o);
            CHECK(std::isfinite(found.scale.item()));
            CHECK(found.scale.item() > 0.0);
            CHECK(std::isfinite(found.zero.item()));
          }
        }
}

TEST_CASE("errors of calibration") {
  const Tensor x = random_tensor({2, 3});
  CHECK_ERROR(calibrate(Tensor::zeros({3}), 2, {}),
              "calibrate: x is [3] float32 on cpu, expected a float32 matrix");
  CHECK_THROWS_AS(calibrate(Tensor(), 2, {}), Error);
  CHECK_THROWS_AS(calibrate(x.to(DType::f64), 2, {}), Error);
  CHECK_ERROR(calibrate(x, 0, {}), "calibrate: expected 1 to 8 bits, got 0");
  CHECK_THROWS_AS(calibrate(x, 9, {}), Error);
  for (double share : {0.0, -1.0, 1.5, static_cast<double>(NAN)})
    CHECK_ERROR_HAS(calibrate(x, 2, {.share = share}), "expected a share above 0");
  CHECK_ERROR(calibrate(x, 2, {.parts = 0}), "calibrate: expected 1 to 10000 parts, got 0");
}
