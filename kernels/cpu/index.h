#pragma once

#include <adjoint/core/tensor.h>

#include <string_view>

namespace adj::kernels::cpu {

/// Throws unless every element of the int32 tensor `index` is in [0, limit); names the first that is not.
inline void require_in_range(std::string_view op, std::string_view name, const Tensor& index, int64_t limit) {
  const int32_t* values = index.data<int32_t>();
  const int64_t n = index.numel();
  int32_t outside = 0;
  for (int64_t k = 0; k < n; ++k) outside |= static_cast<int32_t>((values[k] < 0) | (values[k] >= limit));
  if (outside == 0) [[likely]]
    return;
  for (int64_t k = 0; k < n; ++k)
    ADJ_CHECK(values[k] >= 0 && values[k] < limit, "{}: {}[{}] is {}, expected [0, {})", op, name, k,
              values[k], limit);
}

}  // namespace adj::kernels::cpu
