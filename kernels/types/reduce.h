#pragma once

#include <cstdint>
#include <string_view>

namespace adj {

/// How the terms of a target are reduced. `var` is the mean of the squares minus the square of the mean;
/// `std` is its root if it exceeds kSmallestVariance, else 0.
enum class Reduce : uint8_t { sum, mean, max, min, var, std };

inline constexpr int kReductions = 6;  ///< number of values of Reduce
/// As in PyG's StdAggregation: std and its gradient are 0 up to this variance.
inline constexpr double kSmallestVariance = 1e-5;

constexpr std::string_view name_of(Reduce reduce) {
  constexpr std::string_view kNames[kReductions] = {"sum", "mean", "max", "min", "var", "std"};
  return kNames[static_cast<size_t>(reduce)];
}

}  // namespace adj
