#pragma once

#include <cstdint>

namespace adj {

/// Mapping of a float range to 0 … L = 2^bits - 1. `affine`: minmax range including 0, which is exactly
/// representable; for activations. `symmetric`: -m to m, m the largest absolute value, 0 midway between two
/// integers; for weights, which one bit maps to -m and m.
enum class BitRange : uint8_t { affine, symmetric };

}  // namespace adj
