#pragma once

#include <adjoint/core/tensor.h>

#include <string_view>

namespace adj {

/// to[i] = source[i], converted between dtypes on one device; the two have as many elements. An int64 beyond
/// int32 becomes the nearest int32.
void convert(const Tensor& source, Tensor& to);
/// Labels or an index as kernels take them: int32 instead of int64, all else, what is absent too, as it is.
/// Those of a caller in [0, limit): one that is no int32 throws on the CPU, "accuracy: label[5] is
/// 4294967296, expected [0, 7)"; a GPU, which is not asked in the middle of a step, has the nearest int32,
/// which is out of range there as well.
Tensor to_int32(std::string_view op, std::string_view name, const Tensor& index, int64_t limit);
/// Every element = value, converted to the tensor's dtype.
void fill(Tensor& tensor, double value);

/// Calls `f.template operator()<T>()` with the type of the dtype's elements. Bits have none and throw.
template <class F>
void dispatch_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<bfloat16>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::bits:
      fail("bits: packed bits cannot be read or written as numbers");
  }
}

namespace cpu {
void convert(const Tensor& source, Tensor& to);
void fill(Tensor& tensor, double value);
}  // namespace cpu
namespace cuda {
void convert(const Tensor& source, Tensor& to);
void fill(Tensor& tensor, double value);
}  // namespace cuda

}  // namespace adj
