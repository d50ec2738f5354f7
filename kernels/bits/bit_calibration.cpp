#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_calibration.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace adj {

namespace {

using kernels::BitScale;
using Numbers = std::vector<float>;

struct Range {
  float least = 0.0f, largest = 0.0f;  // 0 is always in the range
};

/// Range that holds the requested share of the numbers, rounded up to a whole number of them.
Range percentile_of(Numbers& x, const CalibrationOptions& o) {
  const auto n = std::ssize(x);
  const auto held =
      std::clamp(static_cast<int64_t>(std::ceil(o.share * static_cast<double>(n))), int64_t{1}, n);
  const auto nth = [&](int64_t k) {
    std::nth_element(x.begin(), x.begin() + k, x.end());
    return x[static_cast<size_t>(k)];
  };
  if (o.range == BitRange::affine) {
    const int64_t cut = (n - held) / 2;
    return {nth(cut), nth(n - 1 - cut)};
  }
  for (float& value : x) value = std::abs(value);
  const float most = nth(held - 1);
  return {-most, most};
}

double squared_error(const float* x, int64_t n, BitScale to, int largest) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const int q = kernels::quantized(x[i], to.scale, to.zero, largest);
    const double error =
        static_cast<double>(x[i]) - static_cast<double>(to.scale * (static_cast<float>(q) - to.zero));
    sum += error * error;
  }
  return sum;
}

Range least_squares_of(const Numbers& x, int bits, const CalibrationOptions& o) {
  constexpr int64_t kChunk = 4096;  // stays in the L1 cache for all candidates
  Range all;
  for (float value : x) all = {std::min(all.least, value), std::max(all.largest, value)};
  std::vector<Range> ranges;  // largest first
  for (int part = o.parts; part > 0; --part) {
    const float factor = static_cast<float>(part) / static_cast<float>(o.parts);
    ranges.push_back({factor * all.least, factor * all.largest});
  }
  const int64_t n = std::ssize(x), chunks = ceil_div(n, kChunk);
  std::vector<double> errors(ranges.size() * static_cast<size_t>(chunks));
  parallel_for(n, kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kChunk)
      for (size_t r = 0; r < ranges.size(); ++r)
        errors[r * static_cast<size_t>(chunks) + static_cast<size_t>(first / kChunk)] = squared_error(
            x.data() + first, std::min(kChunk, end - first),
            kernels::bit_scale(ranges[r].least, ranges[r].largest, o.range, bits), (1 << bits) - 1);
  });
  size_t best = 0;
  double least = 0.0;
  for (size_t r = 0; r < ranges.size(); ++r) {
    double sum = 0.0;
    for (int64_t c = 0; c < chunks; ++c)
      sum += errors[r * static_cast<size_t>(chunks) + static_cast<size_t>(c)];
    if (r == 0 || sum < least) {
      best = r;
      least = sum;
    }
  }
  return ranges[best];
}

}  // namespace

BitScales calibrate(const Tensor& x, int bits, const CalibrationOptions& o) {
  ADJ_CHECK(x && x.dims() == 2 && x.dtype() == DType::f32, "calibrate: x is {}, expected a float32 matrix",
            x.str());
  ADJ_CHECK(bits >= 1 && bits <= BitTensor::kMostBits, "calibrate: expected 1 to 8 bits, got {}", bits);
  ADJ_CHECK(o.share > 0.0 && o.share <= 1.0, "calibrate: expected a share above 0, at most 1, got {}",
            o.share);
  ADJ_CHECK(o.parts >= 1 && o.parts <= 10'000, "calibrate: expected 1 to 10000 parts, got {}", o.parts);
  const int64_t outer = outer_of(x, o.along), inner = inner_of(x, o.along), sets = o.by_row ? outer : 1;
  if (o.method == Calibration::extremes) {
    BitScales found{Tensor::empty({sets}, DType::f32, x.device()),
                    Tensor::empty({sets}, DType::f32, x.device())};
    kernels::bit_range(
        {.x = x, .along = o.along, .range = o.range, .bits = bits, .scale = found.scale, .zero = found.zero});
    return found;
  }
  const Tensor host = x.to(Device::cpu());
  const float* values = host.data<float>();
  const bool strided = o.by_row && o.along == PackedAlong::columns;
  const int64_t count = o.by_row ? inner : x.numel(), step = strided ? outer : 1, next = strided ? 1 : inner;
  BitScales found{Tensor::empty({sets}), Tensor::empty({sets})};
  auto* scale = found.scale.mutable_data<float>();
  auto* zero = found.zero.mutable_data<float>();
  parallel_for(sets, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      Numbers numbers;
      numbers.reserve(static_cast<size_t>(count));
      for (int64_t k = 0; k < count; ++k)
        if (const float value = values[s * next + k * step]; std::isfinite(value)) numbers.push_back(value);
      Range range;
      if (!numbers.empty())
        range = o.method == Calibration::percentile ? percentile_of(numbers, o)
                                                    : least_squares_of(numbers, bits, o);
      const BitScale of = kernels::bit_scale(range.least, range.largest, o.range, bits);
      scale[s] = of.scale;
      zero[s] = of.zero;
    }
  });
  return {found.scale.to(x.device()), found.zero.to(x.device())};
}

}  // namespace adj
