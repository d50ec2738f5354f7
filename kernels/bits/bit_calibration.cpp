#include <adjoint/core/parallel.h>
#include <adjoint/kernels/bits/bit_calibration.h>
#include <adjoint/kernels/bits/bit_range.h>
#include <adjoint/kernels/bits/least_squares.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace adj {

namespace {

using kernels::BitScale;
using Numbers = std::vector<float>;

/// Covers the requested share of the numbers, or slightly more if that is not a whole number.
BitScale percentile_of(Numbers& x, int bits, const CalibrationOptions& o) {
  if (x.empty()) return kernels::bit_scale(0.0f, 0.0f, o.range, bits);
  const auto n = std::ssize(x);
  const auto held =
      std::clamp(static_cast<int64_t>(std::ceil(o.share * static_cast<double>(n))), int64_t{1}, n);
  const auto nth = [&](int64_t k) {
    std::nth_element(x.begin(), x.begin() + k, x.end());
    return x[static_cast<size_t>(k)];
  };
  if (o.range == BitRange::affine) {
    const int64_t cut = (n - held) / 2;
    const float least = nth(cut);
    return kernels::bit_scale(least, nth(n - 1 - cut), o.range, bits);
  }
  for (float& value : x) value = std::abs(value);
  const float most = nth(held - 1);
  return kernels::bit_scale(-most, most, o.range, bits);
}

BitScale least_squares_of(const Numbers& x, int bits, const CalibrationOptions& o) {
  constexpr int64_t kChunk = 4096;
  float least = 0.0f, largest = 0.0f;  // 0 is always in the range
  for (float value : x) least = std::min(least, value), largest = std::max(largest, value);
  std::vector<BitScale> scales;  // from the largest range on
  for (int part = o.parts; part > 0; --part) {
    const float factor = static_cast<float>(part) / static_cast<float>(o.parts);
    scales.push_back(kernels::bit_scale(factor * least, factor * largest, o.range, bits));
  }
  const auto rounded = [&](size_t k, float value) {
    return kernels::fake_quantized(value, scales[k].scale, scales[k].zero, (1 << bits) - 1);
  };
  return scales[static_cast<size_t>(kernels::least_squared_error(x, std::ssize(scales), rounded, kChunk))];
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
  if (o.method == Calibration::minmax) {
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
      const BitScale result = o.method == Calibration::percentile ? percentile_of(numbers, bits, o)
                                                                  : least_squares_of(numbers, bits, o);
      scale[s] = result.scale;
      zero[s] = result.zero;
    }
  });
  return {found.scale.to(x.device()), found.zero.to(x.device())};
}

}  // namespace adj
