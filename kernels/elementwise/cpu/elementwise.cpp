#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/periodic.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/words.h>

#include <vector>

namespace adj::kernels::cpu {

namespace {

/// y = f(a, b) for operands with stride kA and kB (0 or 1) along a row. Parallel over elements, not rows:
/// there may be few of either.
template <int kA, int kB, class T, class F>
void along_rows(const BroadcastLayout& layout, const T* a, const T* b, T* y, F f) {
  const int64_t columns = layout.columns();
  parallel_for(layout.numel(), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t position = begin; position < end;) {
      const int64_t row = position / columns, column = position - row * columns;
      const int64_t length = std::min(columns - column, end - position);
      int64_t in_a, in_b;
      layout.begin_of(row, in_a, in_b);
      const T *left = a + in_a + kA * column, *right = b + in_b + kB * column;
      T* output = y + position;
#pragma omp simd
      for (int64_t j = 0; j < length; ++j)
        output[j] = narrow<T>(f(widen(left[kA * j]), widen(right[kB * j])));
      position += length;
    }
  });
}

}  // namespace

void linear_combination(const LinearCombinationArgs& args) {
  const double alpha = args.alpha;
  const double beta = args.beta;
  dispatch_features(args.a.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.a.data<S>();
    const T s = static_cast<T>(alpha), t = static_cast<T>(beta);
    if (args.b) {
      const S* other = args.b.data<S>();
      map(args.a.numel(), args.y.mutable_data<S>(),
          [=](int64_t i) { return s * widen(in[i]) + t * widen(other[i]); });
    } else {
      map(args.a.numel(), args.y.mutable_data<S>(), [=](int64_t i) { return s * widen(in[i]); });
    }
  });
}

void multiply_scalar(const MultiplyScalarArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class S>() {
    const S* in = args.a.data<S>();
    const Accumulator<S> factor = *args.s.data<Accumulator<S>>();
    map(args.a.numel(), args.y.mutable_data<S>(), [=](int64_t i) { return widen(in[i]) * factor; });
  });
}

void add_bias(const AddBiasArgs& args) {
  const int64_t width = args.x.size(1);
  if (args.x.numel() == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    const int64_t period = period_of(width);
    std::vector<T> repeated(static_cast<size_t>(period));
    repeat(args.bias.data<S>(), width, period, repeated.data());
    const T* shift = repeated.data();
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for_stretches((end - begin) * width, period, [=](int64_t offset, int64_t length) {
        const S* input = in + begin * width + offset;
        S* output = out + begin * width + offset;
#pragma omp simd
        for (int64_t j = 0; j < length; ++j) output[j] = narrow<S>(widen(input[j]) + shift[j]);
      });
    });
  });
}

void scale_rows(const ScaleRowsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S *in = args.x.data<S>(), *factor = args.s.data<S>();
    S* out = args.y.mutable_data<S>();
    for_rows(args.x.size(0), width, [=](int64_t i) {
      const Accumulator<S> row_factor = widen(factor[i]);
#pragma omp simd
      for (int64_t k = i * width; k < (i + 1) * width; ++k) out[k] = narrow<S>(widen(in[k]) * row_factor);
    });
  });
}

void permute(const PermuteArgs& args) {
  detail::dispatch_word(args.x.dtype(), [&]<class Word>() {
    const auto* in = static_cast<const Word*>(args.x.raw_data());
    const int32_t* order = args.order.data<int32_t>();
    map(args.order.numel(), static_cast<Word*>(args.y.raw_mutable_data()),
        [=](int64_t i) { return in[order[i]]; });
  });
}

void binary(const BinaryArgs& args) {
  const BroadcastLayout layout(args.y.shape(), args.a.shape(), args.b.shape());
  const bool moves_a = layout.stride[0][BroadcastLayout::kLast] != 0;
  const bool moves_b = layout.stride[1][BroadcastLayout::kLast] != 0;
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T *a = args.a.data<T>(), *b = args.b.data<T>();
    T* y = args.y.mutable_data<T>();
    dispatch_binary(args.op, [&]<Binary B>() {
      const BinaryFunction<B> f;
      if (moves_a && moves_b) return along_rows<1, 1>(layout, a, b, y, f);
      moves_a ? along_rows<1, 0>(layout, a, b, y, f) : along_rows<0, 1>(layout, a, b, y, f);
    });
  });
}

void expand(const ExpandArgs& args) {
  const BroadcastLayout layout(args.y.shape(), args.x.shape(), args.x.shape());
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T* x = args.x.data<T>();
    T* y = args.y.mutable_data<T>();
    const auto first = [](auto a, auto) { return a; };
    layout.stride[0][BroadcastLayout::kLast] != 0 ? along_rows<1, 1>(layout, x, x, y, first)
                                                  : along_rows<0, 0>(layout, x, x, y, first);
  });
}

}  // namespace adj::kernels::cpu
