#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/norm/norm.h>

#include <cmath>
#include <vector>

namespace adj::kernels::cpu {

void layer_norm(const LayerNormArgs& args) {
  const double eps = args.eps;
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "layer_norm", [&]<class T>() {
    const T *in = args.x.data<T>(), *g = args.gamma.data<T>(), *b = args.beta.data<T>();
    T *out = args.y.mutable_data<T>(), *means = args.mean.mutable_data<T>(),
      *rstds = args.rstd.mutable_data<T>();
    const T count = static_cast<T>(width), floor = static_cast<T>(eps);
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = in + i * width;
        T* to = out + i * width;
        const T m = sum_of<T>(width, [=](int64_t f) { return row[f]; }) / count;
        const T variance = sum_of<T>(width, [=](int64_t f) { return (row[f] - m) * (row[f] - m); }) / count;
        const T r = T{1} / std::sqrt(variance + floor);
        means[i] = m;
        rstds[i] = r;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) to[f] = (row[f] - m) * r * g[f] + b[f];
      }
    });
  });
}

// With x̂ = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean_f g - x̂ mean_f (g x̂)). The column sums that
// are dgamma and dbeta are taken in the same pass.
void layer_norm_backward(const LayerNormBackwardArgs& args) {
  const int64_t width = args.x.size(1);
  if (width == 0) return;
  dispatch_float(args.x.dtype(), "layer_norm_backward", [&]<class T>() {
    const T *in = args.x.data<T>(), *grad = args.dy.data<T>(), *gam = args.gamma.data<T>();
    const T *means = args.mean.data<T>(), *rstds = args.rstd.data<T>();
    T* out = args.dx.mutable_data<T>();
    const T count = static_cast<T>(width);
    std::vector<T> sums(static_cast<size_t>(2 * width));
    const auto chunk = [=](int64_t begin, int64_t end, T* both) {
      T *gamma_sum = both, *beta_sum = both + width;
      std::fill_n(both, 2 * width, T{0});
      for (int64_t i = begin; i < end; ++i) {
        const T *row = in + i * width, *d = grad + i * width;
        T* to = out + i * width;
        const T m = means[i], r = rstds[i];
        T direct = 0, along = 0;
#pragma omp simd reduction(+ : direct, along)
        for (int64_t f = 0; f < width; ++f) {
          const T normal = (row[f] - m) * r, g = d[f] * gam[f];
          direct += g;
          along += g * normal;
          gamma_sum[f] += d[f] * normal;
          beta_sum[f] += d[f];
        }
        direct /= count;
        along /= count;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) to[f] = r * (d[f] * gam[f] - direct - (row[f] - m) * r * along);
      }
    };
    sum_over_row_chunks(args.x.size(0), reduction_grain(width), 2 * width, sums.data(), chunk);
    std::copy_n(sums.data(), width, args.dgamma.mutable_data<T>());
    std::copy_n(sums.data() + width, width, args.dbeta.mutable_data<T>());
  });
}

void l2_normalize_rows(const L2NormalizeRowsArgs& args) {
  const double eps = args.eps;
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "l2_normalize_rows", [&]<class T>() {
    const T* in = args.x.data<T>();
    T *out = args.y.mutable_data<T>(), *scales = args.scale.mutable_data<T>();
    const T floor = static_cast<T>(eps);
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = in + i * width;
        T* to = out + i * width;
        const T norm = std::sqrt(sum_of<T>(width, [=](int64_t f) { return row[f] * row[f]; }));
        const T s = T{1} / std::max(norm, floor);
        scales[i] = s;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) to[f] = row[f] * s;
      }
    });
  });
}

void l2_normalize_rows_backward(const L2NormalizeRowsBackwardArgs& args) {
  const int64_t width = args.y.size(1);
  dispatch_float(args.y.dtype(), "l2_normalize_rows_backward", [&]<class T>() {
    const T *in = args.y.data<T>(), *grad = args.dy.data<T>(), *scales = args.scale.data<T>();
    T* out = args.dx.mutable_data<T>();
    parallel_for(args.y.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *row = in + i * width, *d = grad + i * width;
        T* to = out + i * width;
        const T along = sum_of<T>(width, [=](int64_t f) { return row[f] * d[f]; });
        const T s = scales[i];
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) to[f] = s * (d[f] - along * row[f]);
      }
    });
  });
}

void sum_normalize_rows(const SumNormalizeRowsArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_float(args.x.dtype(), "sum_normalize_rows", [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    parallel_for(args.x.size(0), row_grain(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = in + i * width;
        T* to = out + i * width;
        const T sum = sum_of<T>(width, [=](int64_t f) { return row[f]; });
        const T s = sum == T{0} ? T{1} : T{1} / sum;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) to[f] = row[f] * s;
      }
    });
  });
}

}  // namespace adj::kernels::cpu
