#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/norm/norm.h>

#include <cmath>
#include <limits>
#include <vector>

namespace adj::kernels::cpu {

void layer_norm(const LayerNormArgs& args) {
  const double eps = args.eps;
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S *in = args.x.data<S>(), *g = args.gamma.data<S>(), *b = args.beta.data<S>();
    S* out = args.y.mutable_data<S>();
    T *means = args.mean.mutable_data<T>(), *rstds = args.rstd.mutable_data<T>();
    const T count = static_cast<T>(width), floor = static_cast<T>(eps);
    for_rows(args.x.size(0), width, [=](int64_t i) {
      const S* row = in + i * width;
      S* output = out + i * width;
      const T m = sum_of<T>(width, [=](int64_t f) { return widen(row[f]); }) / count;
      const T squares =
          sum_of<T>(width, [=](int64_t f) { return (widen(row[f]) - m) * (widen(row[f]) - m); });
      const T variance = squares / count;
      const T r = T{1} / std::sqrt(variance + floor);
      means[i] = m;
      rstds[i] = r;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f)
        output[f] = narrow<S>((widen(row[f]) - m) * r * widen(g[f]) + widen(b[f]));
    });
  });
}

// With x̂ = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean_f g - x̂ mean_f (g x̂)). The column sums
// dgamma and dbeta are computed in the same pass.
void layer_norm_backward(const LayerNormBackwardArgs& args) {
  const int64_t width = args.x.size(1);
  if (width == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S *in = args.x.data<S>(), *grad = args.dy.data<S>(), *gam = args.gamma.data<S>();
    const T *means = args.mean.data<T>(), *rstds = args.rstd.data<T>();
    S* out = args.dx.mutable_data<S>();
    const T count = static_cast<T>(width);
    std::vector<T> sums(static_cast<size_t>(2 * width));
    const auto chunk = [=](int64_t begin, int64_t end, T* both) {
      T *gamma_sum = both, *beta_sum = both + width;
      std::fill_n(both, 2 * width, T{0});
      for (int64_t i = begin; i < end; ++i) {
        const S *row = in + i * width, *d = grad + i * width;
        S* output = out + i * width;
        const T m = means[i], r = rstds[i];
        T direct = 0, along = 0;
        // A local copy: GCC 12 reloads what a reduction captures for every lane, and then gathers from there.
        const S* gain = gam;
#pragma omp simd reduction(+ : direct, along)
        for (int64_t f = 0; f < width; ++f) {
          const T normal = (widen(row[f]) - m) * r, slope = widen(d[f]), g = slope * widen(gain[f]);
          direct += g;
          along += g * normal;
          gamma_sum[f] += slope * normal;
          beta_sum[f] += slope;
        }
        direct /= count;
        along /= count;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f)
          output[f] = narrow<S>(r * (widen(d[f]) * widen(gam[f]) - direct - (widen(row[f]) - m) * r * along));
      }
    };
    sum_over_row_chunks(args.x.size(0), reduction_grain(width), 2 * width, sums.data(), chunk);
    const auto rounded = [](T sum) { return narrow<S>(sum); };
    std::transform(sums.begin(), sums.begin() + width, args.dgamma.mutable_data<S>(), rounded);
    std::transform(sums.begin() + width, sums.end(), args.dbeta.mutable_data<S>(), rounded);
  });
}

void l2_normalize_rows(const L2NormalizeRowsArgs& args) {
  const double eps = args.eps;
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    T* scales = args.scale.mutable_data<T>();
    const T floor = static_cast<T>(eps);
    for_rows(args.x.size(0), width, [=](int64_t i) {
      const S* row = in + i * width;
      S* output = out + i * width;
      const T norm = std::sqrt(sum_of<T>(width, [=](int64_t f) { return widen(row[f]) * widen(row[f]); }));
      const T s = T{1} / std::max(norm, floor);  // in this order NaN propagates
      scales[i] = s;
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) output[f] = narrow<S>(widen(row[f]) * s);
    });
  });
}

void l2_normalize_rows_backward(const L2NormalizeRowsBackwardArgs& args) {
  const int64_t width = args.y.size(1);
  dispatch_features(args.y.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S *in = args.y.data<S>(), *grad = args.dy.data<S>();
    const T* scales = args.scale.data<T>();
    S* out = args.dx.mutable_data<S>();
    const T largest = T{1} / static_cast<T>(args.eps);
    for_rows(args.y.size(0), width, [=](int64_t i) {
      const S *row = in + i * width, *d = grad + i * width;
      S* output = out + i * width;
      const T s = scales[i];
      const T along =
          s < largest ? sum_of<T>(width, [=](int64_t f) { return widen(row[f]) * widen(d[f]); }) : T{0};
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) output[f] = narrow<S>(s * (widen(d[f]) - along * widen(row[f])));
    });
  });
}

void sum_normalize_rows(const SumNormalizeRowsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    for_rows(args.x.size(0), width, [=](int64_t i) {
      const S* row = in + i * width;
      S* output = out + i * width;
      const T sum = sum_of<T>(width, [=](int64_t f) { return widen(row[f]); });
      // A denormal sum has no finite reciprocal.
      const T lift = std::abs(sum) < std::numeric_limits<T>::min() ? T(0x1p64) : T{1};
      const T s = sum == T{0} ? T{1} / lift : T{1} / (sum * lift);
#pragma omp simd
      for (int64_t f = 0; f < width; ++f) output[f] = narrow<S>(widen(row[f]) * lift * s);
    });
  });
}

}  // namespace adj::kernels::cpu
