#pragma once

#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/vector_math.h>

#include <functional>
#include <limits>
#include <vector>

namespace adj::kernels::cpu {

/// Sixteen rows of a matrix, transposed: element (row l, column c) is at [16 c + l]. Row-wise operations such
/// as a softmax become vector code over the rows, however narrow they are.
template <class T>
class RowTile {
 public:
  static constexpr int64_t kRows = 16;

  explicit RowTile(int64_t width) : width_(width), elements_(static_cast<size_t>(width * kRows)) {}

  /// Reads rows row[0..15] of x, stored as T or a narrower type.
  template <class S>
  void load(const S* x, const int64_t (&row)[kRows]) {
    T* output = elements_.data();
    for (int64_t l = 0; l < kRows; ++l) {
      const S* input = x + row[l] * width_;
      for (int64_t c = 0; c < width_; ++c) output[c * kRows + l] = widen(input[c]);
    }
  }
  /// Writes its first `count` rows to rows row[0..count) of y.
  template <class S>
  void store(S* y, const int64_t (&row)[kRows], int64_t count) const {
    const T* input = elements_.data();
    for (int64_t l = 0; l < count; ++l) {
      S* output = y + row[l] * width_;
      for (int64_t c = 0; c < width_; ++c) output[c] = narrow<S>(input[c * kRows + l]);
    }
  }

  /// x = f(x, l) for every element x, of row l.
  template <class F>
  void map(F f) {
    for (int64_t c = 0; c < width_; ++c) {
      T* x = column(c);
#pragma omp simd
      for (int64_t l = 0; l < kRows; ++l) x[l] = f(x[l], l);
    }
  }

  T* column(int64_t c) { return elements_.data() + c * kRows; }
  T& at(int64_t l, int64_t c) { return elements_[static_cast<size_t>(c * kRows + l)]; }
  int64_t width() const { return width_; }

 private:
  int64_t width_;
  std::vector<T> elements_;
};

/// Calls f(row, count) for tiles of the rows row_of(k), k in [begin, end); a partial tile repeats its last
/// row beyond `count`.
template <class RowOf, class F>
void for_row_tiles(int64_t begin, int64_t end, RowOf row_of, F f) {
  constexpr int64_t kRows = RowTile<float>::kRows;
  for (int64_t k = begin; k < end; k += kRows) {
    int64_t row[kRows];
    for (int64_t l = 0; l < kRows; ++l) row[l] = row_of(std::min(k + l, end - 1));
    f(row, std::min(kRows, end - k));
  }
}

/// Calls write(first row, count, best, column) for tiles of the rows of x, width >= 1, with the best number
/// of each row and its column: that of column 0, replaced by each later x for which beats(x, best).
template <class S, class Beats, class Write>
void best_of_rows(const S* x, int64_t rows, int64_t width, Beats beats, Write write) {
  using T = Accumulator<S>;
  constexpr int64_t kRows = RowTile<T>::kRows;
  parallel_for(rows, row_grain(width), [=](int64_t begin, int64_t end) {
    RowTile<T> tile(width);
    for_row_tiles(begin, end, std::identity(), [&](const auto& row, int64_t count) {
      tile.load(x, row);
      T best[kRows];
      int32_t where[kRows] = {};
      std::copy_n(tile.column(0), kRows, best);
      for (int64_t c = 1; c < width; ++c) {
        const T* column = tile.column(c);
#pragma omp simd
        for (int64_t l = 0; l < kRows; ++l) {
          const bool wins = beats(column[l], best[l]);
          where[l] = wins ? static_cast<int32_t>(c) : where[l];
          best[l] = wins ? column[l] : best[l];
        }
      }
      write(row[0], count, best, where);
    });
  });
}

/// The row maxima of a tile and the sums of exp(x - max); with kKeep the tile then holds these exponentials.
template <class T>
struct SoftmaxTile {
  static constexpr int64_t kRows = RowTile<T>::kRows;
  T largest[kRows];
  T total[kRows];

  void log_totals(T (&logs)[kRows]) const {
#pragma omp simd
    for (int64_t l = 0; l < kRows; ++l) logs[l] = fast_log(total[l]);
  }

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
