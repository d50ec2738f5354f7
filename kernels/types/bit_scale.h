#pragma once

#include <adjoint/core/dtype.h>

#include <cmath>
#include <cstdint>

// Rounding of floats to integers of a few bits, identical on every device; shared by bit tensors, packed rows
// and fake quantization.

namespace adj {

/// Mapping of a float range to 0 … L = 2^bits - 1. `affine`: minmax range including 0, which is exactly
/// representable; for activations. `symmetric`: -m to m, m the largest absolute value, 0 midway between two
/// integers; for weights, which one bit maps to -m and m.
enum class BitRange : uint8_t { affine, symmetric };

namespace kernels {

/// Nearest integer, ties to even, clamped to [0, largest]; 0 for NaN.
ADJ_HOST_DEVICE inline int held_integer(float x, int largest) {
  const float q = rintf(x);
  if (!(q > 0.0f)) return 0;
  return q < static_cast<float>(largest) ? static_cast<int>(q) : largest;
}
/// q of a number, identical on every device.
ADJ_HOST_DEVICE inline int quantized(float x, float scale, float zero, int largest) {
  return held_integer(x / scale + zero, largest);
}

/// `scale` and `zero` of q = round(x / scale + zero).
struct BitScale {
  float scale, zero;
};
/// A scale such that `steps` of it are finite too.
ADJ_HOST_DEVICE inline float usable_scale(float scale, float steps) {
  constexpr float kMost = 3.402823466e38f;
  const float held = kMost / steps * (1.0f - 0x1p-23f), most = held < kMost ? held : kMost;
  return !(scale > 0.0f) ? 1.0f : scale < most ? scale : most;
}
/// Scale and zero of the range [least, largest]. scale is finite and above 0: 1 if the step is too small for
/// float32; if it is too large, the largest whose numbers are finite.
ADJ_HOST_DEVICE inline BitScale bit_scale(float least, float largest, BitRange range, int bits) {
  const auto last = static_cast<float>((1 << bits) - 1);
  const float low = least < 0.0f ? least : 0.0f, high = largest > 0.0f ? largest : 0.0f;
  if (range == BitRange::symmetric) {
    const float most = -low > high ? -low : high;
    return {usable_scale(most / last * 2.0f, last / 2.0f), last / 2.0f};
  }
  // Halved, as the full range may overflow float32.
  const float scale = usable_scale((high / 2.0f - low / 2.0f) / last * 2.0f, last);
  return {scale, rintf(-low / scale)};
}

}  // namespace kernels
}  // namespace adj
