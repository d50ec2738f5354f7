#pragma once

#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/loss/loss.h>

namespace adj::kernels::cpu {

inline Selection checked_selection(std::string_view op, const Tensor& x, const Tensor& index) {
  if (index) require_in_range(op, "index", index, x.size(0));
  return {x, index};
}

/// Zeros where no row is selected; nothing to do where all are.
template <class T>
void clear_unselected(const Selection& selection, int64_t n, T* dx) {
  if (selection.index == nullptr) return;
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) { std::fill(dx + begin, dx + end, T{}); });
}

inline int32_t checked_label(std::string_view op, const int32_t* label, int64_t row, int64_t classes) {
  const int32_t c = label[row];
  ADJ_CHECK(c >= 0 && c < classes, "{}: label[{}] is {}, expected [0, {})", op, row, c, classes);
  return c;
}

}  // namespace adj::kernels::cpu
