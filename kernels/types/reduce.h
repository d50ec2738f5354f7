#pragma once

#include <cstdint>
#include <string_view>

namespace adj {

/// How the terms that reach a target become one. `var` is the mean of the squares less the square of the
/// mean; `std` is its root where it is above kSmallestVariance, else 0.
enum class Reduce : uint8_t { sum, mean, max, min, var, std };

inline constexpr int kReductions = 6;
/// As PyG's StdAggregation: below it neither a deviation nor a gradient.
inline constexpr double kSmallestVariance = 1e-5;

constexpr std::string_view name_of(Reduce reduce) {
  constexpr std::string_view kNames[kReductions] = {"sum", "mean", "max", "min", "var", "std"};
  return kNames[static_cast<size_t>(reduce)];
}

}  // namespace adj
