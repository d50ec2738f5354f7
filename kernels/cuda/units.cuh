#pragma once

// Copies of rows as bytes, in the widest units that the rows' widths and places allow, whatever the dtype.

#include <adjoint/kernels/cuda/map.cuh>

namespace adj::kernels::cuda {

/// Calls f<Unit>() with the widest unit, 16 bytes at most, whose size divides every number or-ed into `all`.
template <class F>
void dispatch_unit(uint64_t all, F&& f) {
  if (all % 16 == 0) return f.template operator()<uint4>();
  if (all % 8 == 0) return f.template operator()<uint64_t>();
  if (all % 4 == 0) return f.template operator()<uint32_t>();
  if (all % 2 == 0) return f.template operator()<uint16_t>();
  f.template operator()<uint8_t>();
}

inline uint64_t address(const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.raw_data()); }
inline uint64_t row_bytes(const Tensor& tensor) { return bytes_of({tensor.size(1)}, tensor.dtype()); }

}  // namespace adj::kernels::cuda
