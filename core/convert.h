#pragma once

#include <adjoint/core/tensor.h>

namespace adj {

/// to[i] = source[i], converted between dtypes on one device; the two have as many elements.
void convert(const Tensor& source, Tensor& to);
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
