#pragma once

#include <array>
#include <cstdint>

namespace adj::nn {

/// Pooling of the nodes of each graph, by GraphPooling.
enum class GraphPool : uint8_t { sum, mean, max, attention, set2set, topk, sag };
constexpr auto names_of(GraphPool) {  ///< in options
  return std::array{"sum", "mean", "max", "attention", "set2set", "topk", "sag"};
}

}  // namespace adj::nn
