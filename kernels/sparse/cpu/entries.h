#pragma once

#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels::cpu {

/// Reads the value of an entry as CsrMatrix defines it.
template <class T>
struct EntryValues {
  const T* values;
  const int32_t* order;

  explicit EntryValues(const CsrMatrix& a)
      : values(a.values ? a.values.data<T>() : nullptr), order(a.order ? a.order.data<int32_t>() : nullptr) {}
  T operator[](int64_t e) const {
    if (values == nullptr) return T{1};
    return values[order == nullptr ? e : order[e]];
  }
  /// Value of head `head`, of `heads` values per entry.
  T of_head(int64_t e, int64_t heads, int64_t head) const {
    if (values == nullptr) return T{1};
    return values[(order == nullptr ? e : order[e]) * heads + head];
  }
};

/// Row that holds entry `e`, in a structure with `rows` rows; skips empty rows.
inline int64_t row_of(const int64_t* offsets, int64_t rows, int64_t e) {
  int64_t low = 0, high = rows;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (offsets[middle + 1] <= e) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace adj::kernels::cpu
