#pragma once

#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/cpu/vector_math.h>

#include <limits>

namespace adj::kernels::cpu {

/// The largest logit of each row of a tile, and the sum of exp(x - largest); with kKeep the tile holds these
/// exponentials afterwards.
template <class T>
struct SoftmaxTile {
  static constexpr int64_t kRows = RowTile<T>::kRows;
  T largest[kRows];
  T total[kRows];

  template <bool kKeep>
  void run(RowTile<T>& tile) {
    std::fill_n(largest, kRows, -std::numeric_limits<T>::infinity());
    std::fill_n(total, kRows, T{0});
    for (int64_t c = 0; c < tile.width(); ++c) {
      const T* x = tile.column(c);
#pragma omp simd
      for (int64_t l = 0; l < kRows; ++l) largest[l] = x[l] > largest[l] ? x[l] : largest[l];
    }
    for (int64_t c = 0; c < tile.width(); ++c) {
      T* x = tile.column(c);
#pragma omp simd
      for (int64_t l = 0; l < kRows; ++l) {
        const T e = fast_exp(x[l] - largest[l]);
        total[l] += e;
        if constexpr (kKeep) x[l] = e;
      }
    }
  }
};

}  // namespace adj::kernels::cpu
