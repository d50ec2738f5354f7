#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <atomic>
#include <functional>
#include <vector>

namespace adj::kernels::cpu {

namespace {

// The middle dimension is split into chunks whose partial results are merged in order. Vector code runs over
// the last dimension; a maximum over the last one processes sixteen rows at once instead.

/// The middle dimension in chunks, for every outer index.
struct Chunks {
  int64_t outer, n, inner, grain, count;

  explicit Chunks(const Tensor& x)
      : outer(x.size(0)),
        n(x.size(1)),
        inner(x.size(2)),
        grain(reduction_grain(inner)),
        count(std::max<int64_t>(1, ceil_div(n, grain))) {}

  /// Calls f(item, begin, end) for each, with item = outer index * count + chunk.
  template <class F>
  void each(F f) const {
    const int64_t elements = std::min(n, grain) * inner;
    for_rows(outer * count, elements, [=, this](int64_t item) {
      const int64_t begin = item % count * grain;
      f(item, begin, std::min(n, begin + grain));
    });
  }
};

/// Whether `value` replaces `best`. NaN does, and stays.
template <class W>
inline bool beats(W value, W best) {
  return value > best || (value != value && best == best);
}

/// Each chunk writes its winners, which are then merged.
template <class T>
void max_of_columns(const Tensor& x, T* y, int32_t* winner) {
  const Chunks chunks(x);
  const int64_t inner = chunks.inner, n = chunks.n;
  const T* in = x.data<T>();
  Tensor scratch = Tensor::empty({chunks.outer * chunks.count, inner}, DType::i32);
  int32_t* partial = scratch.mutable_data<int32_t>();
  chunks.each([=](int64_t item, int64_t begin, int64_t end) {
    const T* slab = in + item / chunks.count * n * inner;
    int32_t* where = partial + item * inner;
    std::vector<Accumulator<T>> largest(static_cast<size_t>(inner));
    Accumulator<T>* best = largest.data();
    std::fill_n(where, inner, static_cast<int32_t>(begin));
    for (int64_t f = 0; f < inner; ++f) best[f] = widen(slab[begin * inner + f]);
    for (int64_t k = begin + 1; k < end; ++k) {
      const T* row = slab + k * inner;
#pragma omp simd
      for (int64_t f = 0; f < inner; ++f) {
        const Accumulator<T> value = widen(row[f]);
        const bool wins = beats(value, best[f]);
        where[f] = wins ? static_cast<int32_t>(k) : where[f];
        best[f] = wins ? value : best[f];
      }
    }
  });
  parallel_for(chunks.outer * inner, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / inner, f = i - outer * inner;
      const auto value_of = [=](int32_t k) { return in[(outer * n + k) * inner + f]; };
      const int32_t* candidate = partial + outer * chunks.count * inner + f;
      int32_t best = *candidate;
      for (int64_t c = 1; c < chunks.count; ++c) {
        const int32_t other = candidate[c * inner];
        if (beats(widen(value_of(other)), widen(value_of(best)))) best = other;
      }
      winner[i] = best;
      y[i] = value_of(best);
    }
  });
}

}  // namespace

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

void sum_dim(const SumDimArgs& args) {
  const Chunks chunks(args.x);
  const int64_t inner = chunks.inner, n = chunks.n;
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    Tensor scratch = Tensor::empty({chunks.outer * chunks.count, inner}, DType::f64);
    double* partial = scratch.mutable_data<double>();
    chunks.each([=](int64_t item, int64_t begin, int64_t end) {
      const T* slab = in + item / chunks.count * n * inner;
      double* sum = partial + item * inner;
      std::fill_n(sum, inner, 0.0);
      for (int64_t k = begin; k < end; ++k) {
        const T* row = slab + k * inner;
#pragma omp simd
        for (int64_t f = 0; f < inner; ++f) sum[f] += static_cast<double>(widen(row[f]));
      }
    });
    for_each_index(chunks.outer * inner, kGrain, [=](int64_t i) {
      const int64_t outer = i / inner, f = i - outer * inner;
      double sum = 0.0;
      for (int64_t c = 0; c < chunks.count; ++c) sum += partial[(outer * chunks.count + c) * inner + f];
      out[i] = narrow<T>(static_cast<Accumulator<T>>(sum));
    });
  });
}

void max_dim(const MaxDimArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class T>() {
    T* y = args.y.mutable_data<T>();
    int32_t* winner = args.winner.mutable_data<int32_t>();
    if (args.x.size(2) != 1) return max_of_columns(args.x, y, winner);
    best_of_rows(
        args.x.data<T>(), args.x.size(0), args.x.size(1), [](auto x, auto best) { return beats(x, best); },
        [=](int64_t row, int64_t count, const auto& best, const int32_t* where) {
          std::copy_n(where, count, winner + row);
          for (int64_t l = 0; l < count; ++l) y[row + l] = narrow<T>(best[l]);
        });
  });
}

void max_dim_backward(const MaxDimBackwardArgs& args) {
  const int64_t n = args.dx.size(1), inner = args.dx.size(2);
  dispatch_features(args.dx.dtype(), [&]<class T>() {
    const T* grad = args.dy.data<T>();
    const int32_t* winner = args.winner.data<int32_t>();
    T* out = args.dx.mutable_data<T>();
    map(args.dx.numel(), out, [](int64_t) { return Accumulator<T>{}; });
    for_each_index(args.dy.numel(), kGrain, [=](int64_t i) {
      const int64_t outer = i / inner, f = i - outer * inner;
      out[(outer * n + winner[i]) * inner + f] = grad[i];
    });
  });
}

void softmax(const SoftmaxArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    constexpr int64_t kRows = RowTile<W>::kRows;
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    parallel_for(args.x.size(0), row_grain(width, kCostlyGrain),
                 [=, log = args.log](int64_t begin, int64_t end) {
                   RowTile<W> tile(width);
                   SoftmaxTile<W> sums;
                   for_row_tiles(begin, end, std::identity(), [&](const auto& row, int64_t count) {
                     tile.load(in, row);
                     W terms[kRows];
                     if (log) {
                       sums.template run<false>(tile);
                       sums.log_totals(terms);
                       tile.map([&](W x, int64_t l) { return (x - sums.largest[l]) - terms[l]; });
                     } else {
                       sums.template run<true>(tile);
#pragma omp simd
                       for (int64_t l = 0; l < kRows; ++l) terms[l] = W{1} / sums.total[l];
                       tile.map([&](W x, int64_t l) { return x * terms[l]; });
                     }
                     tile.store(out, row, count);
                   });
                 });
  });
}

void softmax_backward(const SoftmaxBackwardArgs& args) {
  const int64_t width = args.y.size(1);
  dispatch_features(args.y.dtype(), [&]<class T>() {
    using W = Accumulator<T>;
    constexpr int64_t kRows = RowTile<W>::kRows;
    const T *out = args.y.data<T>(), *grad = args.dy.data<T>();
    T* dx = args.dx.mutable_data<T>();
    parallel_for(args.y.size(0), row_grain(width, kCostlyGrain),
                 [=, log = args.log](int64_t begin, int64_t end) {
                   RowTile<W> y(width), d(width);
                   for_row_tiles(begin, end, std::identity(), [&](const auto& row, int64_t count) {
                     y.load(out, row);
                     d.load(grad, row);
                     W sum[kRows] = {};
                     for (int64_t c = 0; c < width; ++c) {
                       const W *p = y.column(c), *g = d.column(c);
#pragma omp simd
                       for (int64_t l = 0; l < kRows; ++l) sum[l] += log ? g[l] : g[l] * p[l];
                     }
                     for (int64_t c = 0; c < width; ++c) {
                       const W* p = y.column(c);
                       W* g = d.column(c);
                       if (log) {
#pragma omp simd
                         for (int64_t l = 0; l < kRows; ++l) g[l] -= fast_exp(p[l]) * sum[l];
                       } else {
#pragma omp simd
                         for (int64_t l = 0; l < kRows; ++l) g[l] = p[l] * (g[l] - sum[l]);
                       }
                     }
                     d.store(dx, row, count);
                   });
                 });
  });
}

void merge_means(const MergeMeansArgs& args) {
  dispatch_float(args.means.dtype(), "merge_means", [&]<class T>() {
    detail::merge_means(args.means.data<T>(), args.weights.data<T>(), args.means.numel(), args.set,
                        args.mean.mutable_data<T>(), args.share.mutable_data<T>());
  });
}

}  // namespace adj::kernels::cpu
