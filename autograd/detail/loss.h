#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/convert.h>
#include <adjoint/graph/ranks/rank_scope.h>

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

/// False for a rank that has none of the rows of a loss.
inline bool selects_rows(const Var& x, const Tensor& index) {
  return (RankScope::current() == nullptr && RankScope::by_parts() == nullptr) ||
         (index ? index.numel() : x.size(0)) > 0;
}
/// Of a loss that was computed, if `some`, else 0: throws on the CPU if no term has a weight, which a GPU
/// does not ask and a rank may have. `problem()` is the message.
template <class F>
void require_terms(bool some, Tensor& total, Tensor& loss, F&& problem) {
  if (!some) {
    total.zero_();
    loss.zero_();
  }
  if (RankScope::current() != nullptr || !total.device().is_cpu() || total.item() != 0.0) return;
  throw Error(problem());
}

}  // namespace adj::detail
