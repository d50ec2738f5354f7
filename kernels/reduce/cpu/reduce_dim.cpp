// The middle dimension is split into chunks whose partial results are merged in order. Vector code runs over
// the last dimension; a maximum over the last one processes sixteen rows at once instead.
#include <adjoint/kernels/cpu/row_tile.h>
#include <adjoint/kernels/reduce/reduce_dim.h>

namespace adj::kernels::cpu {

namespace {

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

}  // namespace adj::kernels::cpu
