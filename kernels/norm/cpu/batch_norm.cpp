// Batch normalization. Statistics read x once: each chunk of rows stays in cache while its mean and squared
// deviations are computed, and chunks are merged in order (Chan et al. 1983). The epilogue's mask is
// recomputed wherever needed, which is cheaper than reading it.
#include <adjoint/kernels/cpu/column_sums.h>
#include <adjoint/kernels/elementwise/cpu/activation_functions.h>
#include <adjoint/kernels/elementwise/cpu/dropout_mask.h>
#include <adjoint/kernels/norm/norm.h>

#include <cmath>
#include <limits>
#include <vector>

namespace adj::kernels::cpu {

namespace {

/// Mean and sum of squared deviations per column.
struct Moments {
  double* mean;
  double* squares;
};

/// Moments of `rows` rows, from the sums of d and d² with d = x - (mean of the first rows). However large the
/// mean, d is of the size of the deviations; an outlier among the first rows shifts the guess by less than it
/// widens the deviations.
template <class S>
void chunk_moments(const S* x, int64_t rows, int64_t width, Moments moments) {
  using T = Accumulator<S>;
  constexpr int64_t kGuessed = 16;
  const int64_t period = period_of(width), n = rows * width;
  std::vector<T> scratch(static_cast<size_t>(3 * period + width));
  T *guess = scratch.data(), *first = guess + period, *second = first + period, *few = second + period;
  const int64_t guessed = std::min(rows, kGuessed);
  column_sums(x, guessed, width, first, few);
  for (int64_t f = 0; f < width; ++f) few[f] /= static_cast<T>(guessed);
  repeat(few, width, period, guess);
  std::fill_n(first, 2 * period, T{0});
  int64_t offset = 0;
  for (; offset + 4 * period <= n; offset += 4 * period) {
    const S *x0 = x + offset, *x1 = x0 + period, *x2 = x1 + period, *x3 = x2 + period;
#pragma omp simd
    for (int64_t j = 0; j < period; ++j) {
      const T d0 = widen(x0[j]) - guess[j], d1 = widen(x1[j]) - guess[j];
      const T d2 = widen(x2[j]) - guess[j], d3 = widen(x3[j]) - guess[j];
      first[j] += (d0 + d1) + (d2 + d3);
      second[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
    }
  }
  for_stretches(n - offset, period, [=](int64_t start, int64_t length) {
    const S* input = x + offset + start;
#pragma omp simd
    for (int64_t j = 0; j < length; ++j) {
      const T d = widen(input[j]) - guess[j];
      first[j] += d;
      second[j] += d * d;
    }
  });
  fold(second, width, period, moments.squares);
  fold(first, width, period, moments.mean);
  for (int64_t f = 0; f < width; ++f) {
    const double sum = moments.mean[f], off = sum / static_cast<double>(rows);
    moments.mean[f] = static_cast<double>(guess[f]) + off;
    moments.squares[f] = std::max(moments.squares[f] - off * sum, 0.0);  // in this order NaN propagates
  }
}

/// Merges b into a.
void merge(Moments a, int64_t rows_a, const Moments& b, int64_t rows_b, int64_t width) {
  const double share = static_cast<double>(rows_b) / static_cast<double>(rows_a + rows_b);
  for (int64_t f = 0; f < width; ++f) {
    const double apart = b.mean[f] - a.mean[f];
    a.mean[f] += apart * share;
    a.squares[f] += b.squares[f] + apart * apart * share * static_cast<double>(rows_a);
  }
}

/// The affine map per column, for features stored as S.
template <class S>
struct Columns {
  using T = Accumulator<S>;
  std::vector<T> storage;
  int64_t period;
  const T *mean, *scale, *beta;  // scale = rstd gamma

  Columns(const Tensor& m, const Tensor& r, const Tensor& g, const Tensor& b, int64_t width)
      : storage(static_cast<size_t>(3 * period_of(width))), period(period_of(width)) {
    T *to_mean = storage.data(), *to_scale = to_mean + period, *to_beta = to_scale + period;
    repeat(m.data<T>(), width, period, to_mean);
    repeat(b.data<S>(), width, period, to_beta);
    std::vector<T> product(static_cast<size_t>(width));
    for (int64_t f = 0; f < width; ++f)
      product[static_cast<size_t>(f)] = r.data<T>()[f] * widen(g.data<S>()[f]);
    repeat(product.data(), width, period, to_scale);
    mean = to_mean, scale = to_scale, beta = to_beta;
  }
};

/// Shared by forward and backward, so that they agree on the sign of z.
template <class T>
inline T normalized(T x, T mean, T scale, T beta) {
  return (x - mean) * scale + beta;
}

/// Calls f(position, column, length, draws) for stretches of the elements [begin, end) that neither wrap in
/// the period nor leave the current draws; `begin` is the start of a row. Without dropout `draws` is null.
template <bool kDropout, class F>
void for_drawn_stretches(int64_t begin, int64_t end, int64_t period, const Epilogue& epilogue, F f) {
  if constexpr (kDropout) {
    DropoutMask mask(epilogue.key, epilogue.rule);
    for (int64_t start = begin; start < end; start += DropoutMask::kMost) {
      const int64_t stop = std::min(start + DropoutMask::kMost, end);
      const uint16_t* draws = mask.draw(start, stop - start);
      for (int64_t i = start; i < stop;) {
        const int64_t column = (i - begin) % period;
        const int64_t length = std::min(period - column, stop - i);
        f(i, column, length, draws + (i - start));
        i += length;
      }
    }
  } else {
    for_stretches(end - begin, period, [&](int64_t offset, int64_t length) {
      f(begin + offset, int64_t{0}, length, static_cast<const uint16_t*>(nullptr));
    });
  }
}

/// The arguments' epilogue, whose dropout drops nothing if there is none.
Epilogue epilogue_of(Epilogue wanted) {
  if (!wanted.dropout) wanted.rule = {};
  return wanted;
}

/// In float64, for gradient checks, always with dropout: less to compile.
template <class S, class F>
void dispatch_epilogue(const Epilogue& epilogue, F&& f) {
  dispatch_epilogue_activation(epilogue.activation, [&]<Activation A>() {
    if (std::is_same_v<S, double> || epilogue.dropout) return f.template operator()<A, true>();
    if constexpr (!std::is_same_v<S, double>) f.template operator()<A, false>();
  });
}

/// Gradient of the epilogue's input from that of its output.
template <Activation kActivation, bool kDropout, class T>
inline T before_epilogue(T dy, T z, const uint16_t* draws, int64_t j, uint32_t threshold, T factor) {
  if constexpr (kDropout) dy = static_cast<uint32_t>(draws[j]) >= threshold ? dy * factor : T{0};
  if constexpr (kActivation == Activation::relu) return z > T{0} ? dy : T{0};
  return dy * activation_slope<kActivation>(z, T{0});
}

}  // namespace

void batch_norm_moments(const BatchNormMomentsArgs& args) {
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  if (rows == 0) args.moments.fill_(0.0);
  if (rows == 0 || width == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    const int64_t grain = reduction_grain(width), chunks = ceil_div(rows, grain);
    Tensor scratch = Tensor::empty({chunks, 2, width}, DType::f64);
    double* partial = scratch.mutable_data<double>();
    const auto moments = [=](int64_t chunk) {
      return Moments{partial + 2 * chunk * width, partial + (2 * chunk + 1) * width};
    };
    parallel_for(rows, grain, [=](int64_t begin, int64_t end) {
      chunk_moments(in + begin * width, end - begin, width, moments(begin / grain));
    });
    for (int64_t c = 1; c < chunks; ++c)
      merge(moments(0), c * grain, moments(c), std::min(grain, rows - c * grain), width);
    std::copy_n(partial, 2 * width, args.moments.mutable_data<double>());
  });
}

void batch_norm_merge(const BatchNormMergeArgs& args) {
  const int64_t width = args.mean.numel();
  if (width == 0) return;
  Tensor merged = args.moments.clone();
  double* first = merged.mutable_data<double>();
  const Moments all{first, first + width};
  int64_t rows = args.rows[0];
  for (size_t set = 1; set < args.rows.size(); ++set) {
    double* other = first + static_cast<int64_t>(set) * 2 * width;
    if (args.rows[set] > 0) merge(all, rows, {other, other + width}, args.rows[set], width);
    rows += args.rows[set];
  }
  const double eps = args.eps, momentum = args.momentum;
  dispatch_float(args.mean.dtype(), "batch_norm_merge", [&]<class T>() {
    T *means = args.mean.mutable_data<T>(), *rstds = args.rstd.mutable_data<T>();
    const auto n = static_cast<double>(rows), degrees = static_cast<double>(std::max<int64_t>(rows - 1, 1));
    for (int64_t f = 0; f < width; ++f) {
      means[f] = static_cast<T>(all.mean[f]);
      rstds[f] = static_cast<T>(1.0 / std::sqrt(all.squares[f] / n + eps));
    }
    const auto move = [=](Tensor& running, const double* statistic, double divisor) {
      if (!running) return;
      T* r = running.mutable_data<T>();
      for (int64_t f = 0; f < width; ++f)
        r[f] =
            static_cast<T>((1.0 - momentum) * static_cast<double>(r[f]) + momentum * statistic[f] / divisor);
    };
    move(args.running_mean, all.mean, 1.0);
    move(args.running_var, all.squares, degrees);
  });
}

void batch_norm_statistics(const BatchNormStatisticsArgs& args) {
  Tensor moments = Tensor::empty({2, args.x.size(1)}, DType::f64);
  batch_norm_moments({args.x, moments});
  batch_norm_merge({.moments = moments.reshape({1, 2, args.x.size(1)}),
                    .rows = {args.x.size(0)},
                    .eps = args.eps,
                    .momentum = args.momentum,
                    .mean = args.mean,
                    .rstd = args.rstd,
                    .running_mean = args.running_mean,
                    .running_var = args.running_var});
}

void batch_norm_running(const BatchNormRunningArgs& args) {
  const double eps = args.eps;
  dispatch_float(args.mean.dtype(), "batch_norm_running", [&]<class T>() {
    const T *running_mean = args.running_mean.data<T>(), *variance = args.running_var.data<T>();
    T *mean = args.mean.mutable_data<T>(), *scale = args.rstd.mutable_data<T>();
    for (int64_t f = 0; f < args.mean.numel(); ++f) {
      mean[f] = running_mean[f];
      scale[f] = static_cast<T>(1.0 / std::sqrt(static_cast<double>(variance[f]) + eps));
    }
  });
}

void batch_norm_apply(const BatchNormApplyArgs& args) {
  const Epilogue epilogue = epilogue_of(args.epilogue);
  const int64_t width = args.x.size(1);
  if (args.x.numel() == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const Columns<S> columns(args.mean, args.rstd, args.gamma, args.beta, width);
    const S* in = args.x.data<S>();
    const T *shift = columns.mean, *scale = columns.scale, *offset = columns.beta;
    S* out = args.y.mutable_data<S>();
    const uint32_t threshold = epilogue.rule.threshold;
    const T factor = static_cast<T>(epilogue.rule.scale);
    dispatch_epilogue<S>(epilogue, [&]<Activation kActivation, bool kDropout>() {
      parallel_for(args.x.size(0), row_grain(width), [=, &epilogue, &columns](int64_t begin, int64_t end) {
        for_drawn_stretches<kDropout>(
            begin * width, end * width, columns.period, epilogue,
            [=](int64_t position, int64_t column, int64_t length, const uint16_t* draws) {
              const S* input = in + position;
              const T *m = shift + column, *s = scale + column, *b = offset + column;
              S* output = out + position;
#pragma omp simd
              for (int64_t j = 0; j < length; ++j) {
                T z = activated<kActivation>(normalized<T>(widen(input[j]), m[j], s[j], b[j]), T{0});
                if constexpr (kDropout) z = static_cast<uint32_t>(draws[j]) >= threshold ? z * factor : T{0};
                output[j] = narrow<S>(z);
              }
            });
      });
    });
  });
}

// With g the gradient before the epilogue and x̂ = (x - mean) rstd: dbeta = Σ g, dgamma = Σ g x̂ and dx =
// gamma rstd (g - dbeta / N - x̂ dgamma / N). Statistics independent of these N rows correspond to infinitely
// many rows.
void batch_norm_backward(const BatchNormBackwardArgs& args) {
  const Epilogue epilogue = epilogue_of(args.epilogue);
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  if (width == 0) return;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const Columns<S> columns(args.mean, args.rstd, args.gamma, args.beta, width);
    const int64_t period = columns.period, grain = reduction_grain(width);
    const S *in = args.x.data<S>(), *grad = args.dy.data<S>();
    const T *shift = columns.mean, *scale = columns.scale, *offset = columns.beta;
    S* out = args.dx.mutable_data<S>();
    const uint32_t threshold = epilogue.rule.threshold;
    const T factor = static_cast<T>(epilogue.rule.scale);
    std::vector<T> sums(static_cast<size_t>(2 * width));
    dispatch_epilogue<S>(epilogue, [&]<Activation kActivation, bool kDropout>() {
      sum_over_row_chunks(rows, grain, 2 * width, sums.data(), [&](int64_t begin, int64_t end, T* both) {
        std::vector<T> lanes(static_cast<size_t>(2 * period), T{0});
        T *direct = lanes.data(), *along = direct + period;
        for_drawn_stretches<kDropout>(
            begin * width, end * width, period, epilogue,
            [=](int64_t position, int64_t column, int64_t length, const uint16_t* draws) {
              const S *input = in + position, *d = grad + position;
              const T *m = shift + column, *s = scale + column, *b = offset + column;
              T *sum = direct + column, *product = along + column;
#pragma omp simd
              for (int64_t j = 0; j < length; ++j) {
                const T value = widen(input[j]), z = normalized(value, m[j], s[j], b[j]);
                const T g =
                    before_epilogue<kActivation, kDropout>(widen(d[j]), z, draws, j, threshold, factor);
                sum[j] += g;
                product[j] += g * (value - m[j]);
              }
            });
        fold(direct, width, period, both);
        fold(along, width, period, both + width);
      });
    });
    S *to_gamma = args.dgamma.mutable_data<S>(), *to_beta = args.dbeta.mutable_data<S>();
    const T* r = args.rstd.data<T>();
    const int64_t all_rows = args.all_rows > 0 ? args.all_rows : rows;
    const T count = args.of_batch ? static_cast<T>(all_rows) : std::numeric_limits<T>::infinity();
    std::vector<T> repeated(static_cast<size_t>(2 * period));
    T *mean_g = repeated.data(), *mean_gx = mean_g + period;
    T *sum_g = sums.data(), *sum_gx = sum_g + width;
    for (int64_t f = 0; f < width; ++f) {
      sum_gx[f] *= r[f];
      to_beta[f] = narrow<S>(sum_g[f]);
      to_gamma[f] = narrow<S>(sum_gx[f]);
    }
    if (args.sum_over_ranks) {
      Tensor both = Tensor::from(sums).reshape({2, width});
      args.sum_over_ranks(both);
      std::copy_n(both.data<T>(), 2 * width, sum_g);
    }
    for (int64_t f = 0; f < width; ++f) {
      mean_g[f] = sum_g[f] / count;
      mean_gx[f] = sum_gx[f] * r[f] / count;
    }
    repeat(mean_g, width, period, mean_g);
    repeat(mean_gx, width, period, mean_gx);
    dispatch_epilogue<S>(epilogue, [&]<Activation kActivation, bool kDropout>() {
      parallel_for(rows, grain, [=, &epilogue](int64_t begin, int64_t end) {
        for_drawn_stretches<kDropout>(
            begin * width, end * width, period, epilogue,
            [=](int64_t position, int64_t column, int64_t length, const uint16_t* draws) {
              const S *input = in + position, *d = grad + position;
              const T *m = shift + column, *s = scale + column, *b = offset + column;
              const T *direct = mean_g + column, *along = mean_gx + column;
              S* output = out + position;
#pragma omp simd
              for (int64_t j = 0; j < length; ++j) {
                const T value = widen(input[j]), z = normalized(value, m[j], s[j], b[j]);
                const T g =
                    before_epilogue<kActivation, kDropout>(widen(d[j]), z, draws, j, threshold, factor);
                output[j] = narrow<S>(s[j] * (g - direct[j] - (value - m[j]) * along[j]));
              }
            });
      });
    });
  });
}

}  // namespace adj::kernels::cpu
