#pragma once

#include <adjoint/core/tensor.h>

#include <array>
#include <vector>

namespace adj::detail {

using Pair = std::array<int32_t, 2>;  ///< of a user and an item

/// int32 [*,2].
inline Tensor tensor_of_pairs(const std::vector<Pair>& pairs) {
  std::vector<int32_t> numbers;
  numbers.reserve(2 * pairs.size());
  for (const Pair& pair : pairs) numbers.insert(numbers.end(), pair.begin(), pair.end());
  return Tensor::from(numbers, Shape{std::ssize(pairs), 2});
}
/// The inverse, of a tensor on any device; none of an absent one.
inline std::vector<Pair> pairs_of(const Tensor& tensor) {
  const std::vector<int32_t> numbers = tensor ? tensor.to_vector<int32_t>() : std::vector<int32_t>();
  std::vector<Pair> pairs(numbers.size() / 2);
  for (size_t k = 0; k < pairs.size(); ++k) pairs[k] = {numbers[2 * k], numbers[2 * k + 1]};
  return pairs;
}

}  // namespace adj::detail
