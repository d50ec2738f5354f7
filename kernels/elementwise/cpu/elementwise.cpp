#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/periodic.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <vector>

namespace adj::kernels::cpu {

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

void multiply(const MultiplyArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class S>() {
    const S *left = args.a.data<S>(), *right = args.b.data<S>();
    map(args.a.numel(), args.y.mutable_data<S>(),
        [=](int64_t i) { return widen(left[i]) * widen(right[i]); });
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
  const auto move = [&]<class Word>() {
    const auto* in = static_cast<const Word*>(args.x.raw_data());
    const int32_t* order = args.order.data<int32_t>();
    map(args.order.numel(), static_cast<Word*>(args.y.raw_mutable_data()),
        [=](int64_t i) { return in[order[i]]; });
  };
  switch (size_of(args.x.dtype())) {
    case 8:
      return move.operator()<uint64_t>();
    case 4:
      return move.operator()<uint32_t>();
    case 2:
      return move.operator()<uint16_t>();
    default:
      return move.operator()<uint8_t>();
  }
}

}  // namespace adj::kernels::cpu
