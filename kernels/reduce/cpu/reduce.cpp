#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <atomic>
#include <vector>

namespace adj::kernels::cpu {

void sum_rows(const SumRowsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    if (width == 0) return;
    const auto sum_into = [=](T* sums) {
      sum_over_row_chunks(args.x.size(0), reduction_grain(width), width, sums,
                          [=](int64_t begin, int64_t end, T* part) {
                            std::vector<T> scratch(static_cast<size_t>(2 * period_of(width)));
                            column_sums(in + begin * width, end - begin, width, scratch.data(), part);
                          });
    };
    if constexpr (std::is_same_v<S, T>) {
      sum_into(out);
    } else {
      std::vector<T> sums(static_cast<size_t>(width));
      sum_into(sums.data());
      for (int64_t f = 0; f < width; ++f) out[f] = narrow<S>(sums[static_cast<size_t>(f)]);
    }
  });
}

void sum_columns(const SumColumnsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    for_rows(args.x.size(0), width, [=](int64_t i) {
      const S* row = in + i * width;
      out[i] = narrow<S>(sum_of<Accumulator<S>>(width, [=](int64_t f) { return widen(row[f]); }));
    });
  });
}

void sum_all(const SumAllArgs& args) {
  const double scale = args.scale;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    const double sum = sum_of_chunks(args.x.numel(), kGrain, [=](int64_t begin, int64_t end) {
      return sum_of<double>(end - begin,
                            [=](int64_t i) { return static_cast<double>(widen(in[begin + i])); });
    });
    *args.y.mutable_data<T>() = static_cast<T>(scale * sum);
  });
}

void argmax_columns(const ArgmaxColumnsArgs& args) {
  int32_t* out = args.y.mutable_data<int32_t>();
  // NaN loses to any number; a row of NaNs keeps column 0.
  const auto beats = [](auto x, auto best) { return (x > best) | ((best != best) & (x == x)); };
  dispatch_features(args.x.dtype(), [&]<class S>() {
    best_of_rows(args.x.data<S>(), args.x.size(0), args.x.size(1), beats,
                 [=](int64_t row, int64_t count, const auto&, const int32_t* where) {
                   std::copy_n(where, count, out + row);
                 });
  });
}

void count_equal(const CountEqualArgs& args) {
  if (args.index) require_in_range("count_equal", "index", args.index, args.a.numel());
  const int32_t *left = args.a.data<int32_t>(), *right = args.b.data<int32_t>();
  const int32_t* index = args.index ? args.index.data<int32_t>() : nullptr;
  std::atomic<int64_t> count{0};  // integer: the order does not matter
  parallel_for(args.index ? args.index.numel() : args.a.numel(), kGrain,
               [=, &count](int64_t begin, int64_t end) {
                 int64_t equal = 0;
                 if (index != nullptr)
                   for (int64_t k = begin; k < end; ++k)
                     equal += static_cast<int64_t>(left[index[k]] == right[index[k]]);
                 else
                   for (int64_t k = begin; k < end; ++k) equal += static_cast<int64_t>(left[k] == right[k]);
                 count += equal;
               });
  *args.y.mutable_data<int64_t>() = count;
}

}  // namespace adj::kernels::cpu
