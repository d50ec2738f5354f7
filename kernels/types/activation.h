#pragma once

#include <cstdint>
#include <string_view>

namespace adj {

/// Element-wise activations. leaky_relu has a slope for negative inputs; elu has alpha 1 (Clevert et al.
/// 2016); gelu is the exact x Φ(x) by erf (Hendrycks & Gimpel 2016).
enum class Activation : uint8_t { none, relu, leaky_relu, elu, gelu };

/// Default slope of leaky_relu.
inline constexpr float kLeakySlope = 0.01f;

constexpr std::string_view name_of(Activation activation) {
  constexpr std::string_view kNames[] = {"none", "relu", "leaky_relu", "elu", "gelu"};
  return kNames[static_cast<size_t>(activation)];
}

}  // namespace adj
