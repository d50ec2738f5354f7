#pragma once

#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/loss/loss.h>

#include <atomic>
#include <vector>

namespace adj::kernels::cpu {

/// The rows that a loss is taken over.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;         // that are selected, those that stand there twice counted twice
  int64_t row(int64_t k) const { return index != nullptr ? index[k] : k; }
};

inline Selection checked_selection(std::string_view op, const Tensor& x, const Tensor& index) {
  if (index) require_in_range(op, "index", index, x.size(0));
  return index ? Selection{index.data<int32_t>(), index.numel()} : Selection{nullptr, x.size(0)};
}

/// How often each of `rows` rows is selected, int32 [rows]; absent where all are, once. Counted in integers,
/// whose sum is the same in any order.
inline Tensor times_selected(const Selection& selection, int64_t rows) {
  if (selection.index == nullptr) return {};
  Tensor times = Tensor::zeros({rows}, DType::i32);
  int32_t* count = times.mutable_data<int32_t>();
  parallel_for(selection.count, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      std::atomic_ref(count[selection.index[k]]).fetch_add(1, std::memory_order_relaxed);
  });
  return times;
}

/// For a gradient dx [rows, width]: calls f(begin, end, row_of) so that row_of(k), k in [begin, end), goes
/// through the selected rows, each once and by one thread. What is not selected becomes 0.
template <class T, class F>
void for_selected_rows(const Tensor& times, int64_t rows, int64_t width, T* dx, F f) {
  const int32_t* count = times ? times.data<int32_t>() : nullptr;
  parallel_for(rows, row_grain(width, kCostlyGrain), [=](int64_t begin, int64_t end) {
    if (count == nullptr) return f(begin, end, [](int64_t k) { return k; });
    std::fill(dx + begin * width, dx + end * width, T{});
    std::vector<int64_t> selected;
    for (int64_t i = begin; i < end; ++i)
      if (count[i] > 0) selected.push_back(i);
    const int64_t* row = selected.data();
    if (!selected.empty()) f(int64_t{0}, std::ssize(selected), [row](int64_t k) { return row[k]; });
  });
}

inline int32_t checked_label(std::string_view op, const int32_t* label, int64_t row, int64_t classes) {
  const int32_t c = label[row];
  ADJ_CHECK(c >= 0 && c < classes, "{}: label[{}] is {}, expected [0, {})", op, row, c, classes);
  return c;
}

}  // namespace adj::kernels::cpu
