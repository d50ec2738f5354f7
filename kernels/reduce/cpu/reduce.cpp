#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <atomic>
#include <functional>
#include <limits>
#include <vector>

namespace adj::kernels::cpu {

void sum_rows(const SumRowsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "sum_rows", [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    if (width == 0) return;
    sum_over_row_chunks(args.x.size(0), reduction_grain(width), width, out,
                        [=](int64_t begin, int64_t end, T* sums) {
                          std::vector<T> scratch(static_cast<size_t>(2 * period_of(width)));
                          column_sums(in + begin * width, end - begin, width, scratch.data(), sums);
                        });
  });
}

void sum_columns(const SumColumnsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "sum_columns", [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = in + i * width;
        out[i] = sum_of<T>(width, [=](int64_t f) { return row[f]; });
      }
    });
  });
}

void sum_all(const SumAllArgs& args) {
  const double scale = args.scale;
  dispatch_float(args.x.dtype(), "sum_all", [&]<class T>() {
    const T* in = args.x.data<T>();
    const double sum = sum_of_chunks(args.x.numel(), kGrain, [=](int64_t begin, int64_t end) {
      return sum_of<double>(end - begin, [=](int64_t i) { return static_cast<double>(in[begin + i]); });
    });
    *args.y.mutable_data<T>() = static_cast<T>(scale * sum);
  });
}

void argmax_columns(const ArgmaxColumnsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "argmax_columns", [&]<class T>() {
    constexpr int64_t kRows = RowTile<T>::kRows;
    const T* in = args.x.data<T>();
    int32_t* out = args.y.mutable_data<int32_t>();
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      RowTile<T> tile(width);
      for_row_tiles(begin, end, std::identity(), [&](const auto& row, int64_t count) {
        tile.load(in, row);
        T largest[kRows];
        int32_t where[kRows];
        std::fill_n(largest, kRows, -std::numeric_limits<T>::infinity());
        std::fill_n(where, kRows, 0);
        for (int64_t c = 0; c < width; ++c) {
          const T* column = tile.column(c);
#pragma omp simd
          for (int64_t l = 0; l < kRows; ++l) {
            where[l] = column[l] > largest[l] ? static_cast<int32_t>(c) : where[l];
            largest[l] = column[l] > largest[l] ? column[l] : largest[l];
          }
        }
        std::copy_n(where, count, out + row[0]);
      });
    });
  });
}

void count_equal(const CountEqualArgs& args) {
  if (args.index) require_in_range("count_equal", "index", args.index, args.a.numel());
  const int32_t *left = args.a.data<int32_t>(), *right = args.b.data<int32_t>();
  const int32_t* at = args.index ? args.index.data<int32_t>() : nullptr;
  std::atomic<int64_t> count{0};  // of integers: the order of the additions does not matter
  parallel_for(args.index ? args.index.numel() : args.a.numel(), kGrain, [&](int64_t begin, int64_t end) {
    const auto same = [=](int64_t k) -> int64_t { return left[k] == right[k]; };
    count += at != nullptr ? sum_of<int64_t>(end - begin, [=](int64_t k) { return same(at[begin + k]); })
                           : sum_of<int64_t>(end - begin, [=](int64_t k) { return same(begin + k); });
  });
  *args.y.mutable_data<int64_t>() = count;
}

}  // namespace adj::kernels::cpu
