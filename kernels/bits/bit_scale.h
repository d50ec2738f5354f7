#pragma once

#include <adjoint/core/dtype.h>

#include <cmath>
#include <cstdint>

// How numbers become integers of a few bits, the same on every device; what bit tensors, packed rows and fake
// quantisation share.

namespace adj {

/// How numbers are laid over 0 to L = 2^bits - 1. `affine`: from the least to the largest one and 0, which an
/// integer stands for exactly; for activations. `symmetric`: from -m to m, m the largest absolute value, 0
/// being in the middle between two integers; for weights, which one bit makes -m and m.
enum class BitRange : uint8_t { affine, symmetric };

namespace kernels {

/// The nearest integer, ties to even, held within 0 and `largest`; 0 for NaN.
ADJ_HOST_DEVICE inline int held_integer(float x, int largest) {
  const float q = rintf(x);
  if (!(q > 0.0f)) return 0;
  return q < static_cast<float>(largest) ? static_cast<int>(q) : largest;
}
/// q of a number: the same on every device.
ADJ_HOST_DEVICE inline int quantized(float x, float scale, float zero, int largest) {
  return held_integer(x / scale + zero, largest);
}

struct BitScale {
  float scale, zero;
};
ADJ_HOST_DEVICE inline float usable_scale(float scale) {
  constexpr float kMost = 3.402823466e38f;
  return !(scale > 0.0f) ? 1.0f : scale < kMost ? scale : kMost;
}
/// What a range from `least` to `largest` comes to. scale is finite and above 0: 1 where a float32 holds no
/// step so small, and the largest float32 where none so large.
ADJ_HOST_DEVICE inline BitScale bit_scale(float least, float largest, BitRange range, int bits) {
  const auto last = static_cast<float>((1 << bits) - 1);
  const float low = least < 0.0f ? least : 0.0f, high = largest > 0.0f ? largest : 0.0f;
  if (range == BitRange::symmetric) {
    const float most = -low > high ? -low : high;
    return {usable_scale(most / last * 2.0f), last / 2.0f};
  }
  // Halves, for the whole range may be more than a float32 holds.
  const float scale = usable_scale((high / 2.0f - low / 2.0f) / last * 2.0f);
  return {scale, rintf(-low / scale)};
}

}  // namespace kernels

}  // namespace adj
