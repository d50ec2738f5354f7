#pragma once

#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>

namespace adj::kernels::cpu {

/// The rows that a loss is taken over.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;

  int64_t row(int64_t k) const { return index != nullptr ? index[k] : k; }
};

inline Selection selection_of(std::string_view op, const Tensor& x, const Tensor& index) {
  if (!index) return {nullptr, x.size(0)};
  require_in_range(op, "index", index, x.size(0));
  return {index.data<int32_t>(), index.numel()};
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
