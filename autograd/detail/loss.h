#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/convert.h>

namespace adj::detail {

/// Targets or weights in the dtype that kernels expect with `x`.
inline Tensor convert_for(const Var& x, const Tensor& values) {
  const bool narrow = values && values.dtype() == DType::bf16 && x.dtype() == DType::bf16;
  return narrow ? values.to(DType::f32) : values;
}

inline Tensor rows_of(const char* name, const Var& x, const Tensor& index) {
  return to_int32(name, "index", index, x.shape().dims() > 0 ? x.size(0) : 0);
}
inline Tensor classes_of(const char* name, const Var& x, const Tensor& label) {
  return to_int32(name, "label", label, x.shape().dims() > 1 ? x.size(1) : 0);
}

}  // namespace adj::detail
