#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/periodic.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <vector>

namespace adj::kernels::cpu {

void linear_combination(const LinearCombinationArgs& args) {
  const double alpha = args.alpha;
  const double beta = args.beta;
  dispatch_float(args.a.dtype(), "linear_combination", [&]<class T>() {
    const T* in = args.a.data<T>();
    const T s = static_cast<T>(alpha), t = static_cast<T>(beta);
    if (args.b) {
      const T* other = args.b.data<T>();
      map(args.a.numel(), args.y.mutable_data<T>(), [=](int64_t i) { return s * in[i] + t * other[i]; });
    } else {
      map(args.a.numel(), args.y.mutable_data<T>(), [=](int64_t i) { return s * in[i]; });
    }
  });
}

void multiply(const MultiplyArgs& args) {
  dispatch_float(args.a.dtype(), "multiply", [&]<class T>() {
    const T *left = args.a.data<T>(), *right = args.b.data<T>();
    map(args.a.numel(), args.y.mutable_data<T>(), [=](int64_t i) { return left[i] * right[i]; });
  });
}

void multiply_scalar(const MultiplyScalarArgs& args) {
  dispatch_float(args.a.dtype(), "multiply_scalar", [&]<class T>() {
    const T* in = args.a.data<T>();
    const T factor = *args.s.data<T>();
    map(args.a.numel(), args.y.mutable_data<T>(), [=](int64_t i) { return in[i] * factor; });
  });
}

void add_bias(const AddBiasArgs& args) {
  const int64_t width = args.x.size(1);
  if (args.x.numel() == 0) return;
  dispatch_float(args.x.dtype(), "add_bias", [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    const int64_t period = period_of(width);
    std::vector<T> repeated(static_cast<size_t>(period));
    repeat(args.bias.data<T>(), width, period, repeated.data());
    const T* shift = repeated.data();
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for_stretches((end - begin) * width, period, [=](int64_t offset, int64_t length) {
        const T* from = in + begin * width + offset;
        T* to = out + begin * width + offset;
#pragma omp simd
        for (int64_t j = 0; j < length; ++j) to[j] = from[j] + shift[j];
      });
    });
  });
}

void scale_rows(const ScaleRowsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "scale_rows", [&]<class T>() {
    const T *in = args.x.data<T>(), *factor = args.s.data<T>();
    T* out = args.y.mutable_data<T>();
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T by = factor[i];
#pragma omp simd
        for (int64_t k = i * width; k < (i + 1) * width; ++k) out[k] = in[k] * by;
      }
    });
  });
}

void permute(const PermuteArgs& args) {
  const auto move = [&]<class Word>() {
    const auto* in = static_cast<const Word*>(args.x.raw_data());
    const int32_t* from = args.order.data<int32_t>();
    map(args.order.numel(), static_cast<Word*>(args.y.raw_mutable_data()),
        [=](int64_t i) { return in[from[i]]; });
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
