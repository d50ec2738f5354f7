// Elementwise. Bytes: the operands of the terms, once.

#include <adjoint/kernels/aggregate/moments_backward.h>
#include <adjoint/kernels/cpu/loops.h>

namespace adj::kernels::cpu {

void moment_terms(const MomentTermsArgs& args) {
  const ReductionSet set("moment_terms", args.reduce);
  dispatch_features(args.dy.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t width = args.dy.size(1) / set.count, out = args.terms.size(1);
    const int64_t* offsets = args.a.offsets.data<int64_t>();
    const S* dy = args.dy.data<S>();
    const S* y = set.has(Reduce::std) ? args.y.data<S>() : nullptr;
    const T* mean = set.has_spread() ? args.mean.data<T>() : nullptr;
    T* terms = args.terms.mutable_data<T>();
    for_rows(args.a.rows, width * set.count, [=](int64_t i) {
      const int64_t length = offsets[i + 1] - offsets[i];
      const T share = length > 0 ? T(1) / static_cast<T>(length) : T(0);
      const auto part = [&](const S* matrix, Reduce reduce) {
        return set.has(reduce) ? matrix + (i * set.count + set[reduce]) * width : nullptr;
      };
      const S *of_sum = part(dy, Reduce::sum), *of_mean = part(dy, Reduce::mean),
              *of_var = part(dy, Reduce::var), *of_std = part(dy, Reduce::std);
      const S* deviation = part(y, Reduce::std);
      T* p = terms + i * out;
      for (int64_t f = 0; f < width; ++f) {
        T first = 0, second = 0;
        if (of_sum != nullptr && length > 0) first += widen(of_sum[f]);
        if (of_mean != nullptr) first += share * widen(of_mean[f]);
        if (of_var != nullptr) second += 2 * share * widen(of_var[f]);
        if (of_std != nullptr) {
          const T root = widen(deviation[f]);
          if (root != T(0)) second += share * widen(of_std[f]) / root;
        }
        if (mean != nullptr) {
          first -= second * mean[i * width + f];
          p[width + f] = second;
        }
        p[f] = first;
      }
    });
  });
}

void moments_gradient(const MomentsGradientArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const int64_t width = args.x.size(1);
    const S* x = args.x.data<S>();
    const Accumulator<S>* sums = args.sums.data<Accumulator<S>>();
    S* dx = args.dx.mutable_data<S>();
    for_rows(args.x.size(0), width, [=](int64_t j) {
      const Accumulator<S>* sum = sums + j * 2 * width;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f)
        dx[j * width + f] = narrow<S>(sum[f] + widen(x[j * width + f]) * sum[width + f]);
    });
  });
}

}  // namespace adj::kernels::cpu
