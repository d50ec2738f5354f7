#pragma once

#include <adjoint/core/tensor.h>

#include <string_view>

namespace adj {

/// to[i] = source[i], converted between dtypes on one device; both have the same number of elements. An int64
/// outside int32 is clamped to the nearest int32.
void convert(const Tensor& source, Tensor& target);
/// Converts an int64 index or labels to int32 for kernels; returns anything else, also an absent tensor,
/// unchanged. User indices must be in [0, limit). On the CPU a value outside int32 throws, "accuracy:
/// label[5] is 4294967296, expected [0, 7)"; on a GPU, without a synchronization, it is clamped to the
/// nearest int32, which is out of range as well.
Tensor to_int32(std::string_view op, std::string_view name, const Tensor& index, int64_t limit);
/// Every element = value, converted to the tensor's dtype.
void fill(Tensor& tensor, double value);

/// Calls `f.template operator()<T>()` with the element type of the dtype. Throws for bits.
template <class F>
void dispatch_all(DType dtype, F&& f) {
  if (dtype == DType::bits) fail("bits: packed bits cannot be read or written as numbers");
  if (dtype == DType::i32) return f.template operator()<int32_t>();
  if (dtype == DType::i64) return f.template operator()<int64_t>();
  if (dtype == DType::u8) return f.template operator()<uint8_t>();
  dispatch_features(dtype, f);
}

namespace cpu {
void convert(const Tensor& source, Tensor& target);  ///< for the CPU; does not check its arguments
void fill(Tensor& tensor, double value);             ///< for the CPU
}  // namespace cpu
namespace cuda {
void convert(const Tensor& source, Tensor& target);  ///< for the GPU; does not check its arguments
void fill(Tensor& tensor, double value);             ///< for the GPU
}  // namespace cuda

}  // namespace adj
