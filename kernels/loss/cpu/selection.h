#pragma once

#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/loss/loss.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace adj::kernels::cpu {

/// The rows of a loss.
struct Selection {
  const int32_t* index;  // null: all rows
  int64_t count;         // of selected rows, duplicates included
  int64_t row(int64_t k) const { return index != nullptr ? index[k] : k; }
};

inline Selection checked_selection(std::string_view op, const Tensor& x, const Tensor& index) {
  if (index) require_in_range(op, "index", index, x.size(0));
  return index ? Selection{index.data<int32_t>(), index.numel()} : Selection{nullptr, x.size(0)};
}

/// Ascending, and thus without duplicates: the common form of splits.
inline bool is_ascending(const Selection& selection) {
  constexpr int64_t kBlock = 4096;  // branch-free within, so that it vectorizes
  for (int64_t begin = 1; begin < selection.count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, selection.count);
    int32_t falls = 0;
    for (int64_t k = begin; k < end; ++k) falls |= selection.index[k] <= selection.index[k - 1];
    if (falls != 0) return false;
  }
  return true;
}

/// Number of times each of `rows` rows is selected, int32 [rows]; absent if that is once at most. Integer
/// counts are deterministic.
inline Tensor times_selected(const Selection& selection, int64_t rows) {
  if (selection.index == nullptr || is_ascending(selection)) return {};
  Tensor times = Tensor::zeros({rows}, DType::i32);
  int32_t* count = times.mutable_data<int32_t>();
  parallel_for(selection.count, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      std::atomic_ref(count[selection.index[k]]).fetch_add(1, std::memory_order_relaxed);
  });
  return times;
}

/// For a gradient dx [rows, width]: calls f(begin, end, row_of, often) so that row_of(k), k in [begin, end),
/// covers the selected rows, each once and by one thread; it is selected often(row) times. Rows not selected
/// become 0; the others are not written before.
template <class T, class F>
void for_selected_rows(const Selection& selection, int64_t rows, int64_t width, T* dx, F f) {
  const int32_t* index = selection.index;
  const Tensor times = times_selected(selection, rows);
  const int32_t* count = times ? times.data<int32_t>() : nullptr;
  const auto often = [=](int64_t row) { return count != nullptr ? count[row] : 1; };
  parallel_for(rows, row_grain(width, kCostlyGrain), [=](int64_t begin, int64_t end) {
    const int32_t* row_list = nullptr;  // null: row k is selected
    int64_t first = begin, last = end;
    std::vector<int32_t> found;
    if (index != nullptr) {
      first = 0;
      if (count == nullptr) {
        row_list = std::lower_bound(index, index + selection.count, begin);
        last = std::lower_bound(row_list, index + selection.count, end) - row_list;
      } else {
        for (int64_t i = begin; i < end; ++i)
          if (count[i] > 0) found.push_back(static_cast<int32_t>(i));
        row_list = found.data();
        last = std::ssize(found);
      }
      int64_t next = begin;
      for (int64_t k = 0; k < last; next = row_list[k] + 1, ++k)
        std::fill(dx + next * width, dx + row_list[k] * width, T{});
      std::fill(dx + next * width, dx + end * width, T{});
    }
    if (first < last)
      f(
          first, last, [row_list](int64_t k) { return row_list == nullptr ? k : int64_t{row_list[k]}; },
          often);
  });
}

inline int32_t checked_label(std::string_view op, const int32_t* label, int64_t row, int64_t classes) {
  const int32_t c = label[row];
  ADJ_CHECK(c >= 0 && c < classes, "{}: label[{}] is {}, expected [0, {})", op, row, c, classes);
  return c;
}

}  // namespace adj::kernels::cpu
