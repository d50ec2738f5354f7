#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// Branch-free functions, so that loops over them vectorize. In float32 they are polynomials (minimax fits,
// error at most 2 ULP unless stated otherwise); in float64, used for gradient checks, those of the C++
// library.
namespace adj::kernels::cpu {

/// e^r - 1 for |r| <= 0.347.
inline float reduced_expm1(float r) {
  const float high = 0.04166839644f + r * (0.008368796669f + r * 0.001381443348f);
  return r + r * r * (0.5f + r * (0.1666651964f + r * high));
}

inline double fast_exp(double x) { return std::exp(x); }
/// e^x for x <= 88; 0 below -87.3, the end of float32's normal range. NaN propagates.
inline float fast_exp(float x) {
  constexpr float kShift = 0x1.8p23f;  // adding it rounds to an integer, in the low bits
  const float inside = x < -87.3f ? -87.3f : x;
  const float shifted = inside * 1.44269504f + kShift;
  const float n = shifted - kShift;
  const float r = (inside - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000u);
  const float y = (1.0f + reduced_expm1(r)) * power;
  return x < -87.3f ? 0.0f : y;
}

inline double any_exp(double x) { return std::exp(x); }
/// e^x for any x: infinity beyond float32's range.
inline float any_exp(float x) {
  const bool large = x > 80.0f;  // there x - 2 is exact
  const float inside = (x > 90.0f ? 90.0f : x) - (large ? 2.0f : 0.0f);
  return fast_exp(inside) * (large ? 7.38905610f : 1.0f);
}

inline double fast_expm1(double x) { return std::expm1(x); }
/// e^x - 1 for x <= 88, accurate for small x (at most 4 ULP).
inline float fast_expm1(float x) {
  const float near = reduced_expm1(x);
  const float far = fast_exp(x) - 1.0f;
  return std::abs(x) < 0.34f ? near : far;
}

inline double fast_log(double x) { return std::log(x); }
/// log x for finite, normal x > 0. NaN propagates.
inline float fast_log(float x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const int32_t e = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const float m = std::bit_cast<float>(bits - (static_cast<uint32_t>(e) << 23));
  const float f = m - 1.0f;
  const float low = 0.3333333135f + f * (-0.2500082254f + f * (0.2000122666f + f * -0.1662335247f));
  const float high = 0.1420174092f + f * (-0.1316021979f + f * (0.1276172251f + f * -0.07634581625f));
  const float f2 = f * f;
  const float n = static_cast<float>(e);
  const float y = f * f2 * (low + f2 * f2 * high) - n * 2.12194440e-4f - 0.5f * f2;
  const float sum = f + y + n * 0.693359375f;
  return x == x ? sum : x;
}

inline double any_log(double x) { return std::log(x); }
/// log x for any x: -infinity at 0, NaN below.
inline float any_log(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool subnormal = x < 0x1p-126f;
  const float y = fast_log(subnormal ? x * 0x1p24f : x) - (subnormal ? 16.6355323f : 0.0f);
  const float edge = x == 0.0f ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  const float positive = x == kInfinity ? x : y;
  return x > 0.0f ? positive : edge;
}

inline double fast_log1p(double x) { return std::log1p(x); }
/// log(1 + x) for x in [0, 1], by 2 artanh(x / (2 + x)).
inline float fast_log1p(float x) {
  const float s = x / (2.0f + x);
  const float z = s * s;
  const float series = 1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9 + z * (1.0f / 11 + z / 13))));
  return 2.0f * (s + s * z * series);
}

inline double fast_tanh(double x) { return std::tanh(x); }
/// tanh x (at most 6 ULP), by e^(-2|x|) - 1, which has no cancellation for small x.
inline float fast_tanh(float x) {
  const float t = fast_expm1(-2.0f * std::abs(x));
  return std::copysign(t / (2.0f + t), x);
}

/// Normal distribution: Φ(x) and its density φ(x).
template <class T>
struct Normal {
  T cdf;
  T density;
};

inline Normal<double> fast_normal(double x) {
  return {0.5 * std::erfc(-x * 0.70710678118654752), 0.39894228040143268 * std::exp(-0.5 * x * x)};
}
/// Also relatively accurate in the lower tail (5e-7 above x = -1, 1e-6 above x = -5): Φ(-|x|) = e^(-x²/2) P(1
/// / (1 + 0.35 |x|)).
inline Normal<float> fast_normal(float x) {
  const float e = fast_exp(-0.5f * x * x);
  const float t = 1.0f / (1.0f + 0.35f * std::abs(x));
  constexpr float kTail[] = {0.139621407f, 0.139861867f,  0.119832896f, 0.105507888f,  -0.0231095292f,
                             0.159173667f, -0.255713761f, 0.143971443f, -0.0291458741f};
  float tail = kTail[8];
  for (int k = 7; k >= 0; --k) tail = tail * t + kTail[k];
  tail *= t;
  return {x < 0.0f ? e * tail : 1.0f - e * tail, 0.3989422804f * e};
}

}  // namespace adj::kernels::cpu
