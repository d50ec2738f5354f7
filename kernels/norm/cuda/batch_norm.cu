// Batch normalization. The statistics read x once: sums of x - x[0] and of its square in double, robust
// against a large mean and many rows. Backward reads x and dy twice, once for the column sums and once for
// dx. The epilogue's activation and mask are recomputed in each pass, which is cheaper than reading them.
#include <adjoint/kernels/cuda/columns.cuh>
#include <adjoint/kernels/elementwise/cuda/activation_functions.cuh>
#include <adjoint/kernels/elementwise/cuda/dropout_mask.cuh>
#include <adjoint/kernels/norm/norm.h>

#include <limits>
#include <type_traits>

namespace adj::kernels::cuda {

namespace {

/// Writes the statistics of `rows` rows from a column's mean and sum of squared deviations.
template <class T>
struct StoreStatistics {
  double eps, momentum;
  T *mean, *rstd, *running_mean, *running_var;

  __device__ void operator()(int64_t column, int64_t rows, double average, double squares) const {
    mean[column] = static_cast<T>(average);
    rstd[column] = static_cast<T>(1.0 / sqrt(squares / static_cast<double>(rows) + eps));
    const double unbiased = squares / static_cast<double>(rows > 1 ? rows - 1 : 1);
    if (running_mean != nullptr) move(running_mean[column], average);
    if (running_var != nullptr) move(running_var[column], unbiased);
  }
  __device__ void move(T& running, double value) const {
    running = static_cast<T>((1.0 - momentum) * static_cast<double>(running) + momentum * value);
  }
};
template <class T, class Args>
StoreStatistics<T> store_statistics(const Args& args) {
  return {args.eps,
          args.momentum,
          args.mean.template mutable_data<T>(),
          args.rstd.template mutable_data<T>(),
          mutable_data_or_null<T>(args.running_mean),
          mutable_data_or_null<T>(args.running_var)};
}

struct StoreMoments {
  double* moments;
  int64_t width;
  __device__ void operator()(int64_t column, int64_t, double average, double squares) const {
    moments[column] = average;
    moments[width + column] = squares;
  }
};

/// Sets of rows in order (Chan et al. 1983).
template <class T>
struct MergeMoments {
  const double* moments;
  int64_t width, sets;
  int64_t rows[BatchNormMergeArgs::kMostSets];
  StoreStatistics<T> store;

  __device__ void operator()(int64_t f) const {
    int64_t all = 0;
    double mean = 0.0, squares = 0.0;
    for (int64_t set = 0; set < sets; ++set) {
      if (rows[set] == 0) continue;
      const double* of_set = moments + set * 2 * width;
      const double share = static_cast<double>(rows[set]) / static_cast<double>(all + rows[set]);
      const double apart = of_set[f] - mean;
      mean += apart * share;
      squares += of_set[width + f] + apart * apart * share * static_cast<double>(all);
      all += rows[set];
    }
    store(f, all, mean, squares);
  }
};

template <int N, class S, class Store>
struct Statistics {
  using T = Accumulator<S>;
  using Term = double;  // the first row, used as the shift, may be far from the mean
  const S* x;
  int64_t rows, width;
  Store store;

  struct Columns {
    double shift[N];
  };
  __device__ Columns open(int64_t pack) const {
    const Pack<T, N> first = load_wide<N>(x + pack * N);
    Columns columns;
#pragma unroll
    for (int k = 0; k < N; ++k) columns.shift[k] = static_cast<double>(first[k]);
    return columns;
  }
  __device__ void add(const Columns& columns, int64_t row, int64_t pack, double (&sum)[2][N]) const {
    const Pack<T, N> values = load_wide<N>(x + row * width + pack * N);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const double d = static_cast<double>(values[k]) - columns.shift[k];
      sum[0][k] += d;
      sum[1][k] = fma(d, d, sum[1][k]);
    }
  }
  __device__ void finish(int64_t column, const double (&total)[2]) const {
    const auto n = static_cast<double>(rows);
    const double apart = total[0] / n, average = static_cast<double>(widen(x[column])) + apart;
    double squares = total[1] - apart * total[0];
    if (squares < 0.0) squares = 0.0;  // NaN propagates
    store(column, rows, average, squares);
  }
};

template <class T>
struct Running {
  const T *running_mean, *running_var;
  double eps;
  T *mean, *rstd;

  __device__ void operator()(int64_t f) const {
    mean[f] = running_mean[f];
    rstd[f] = static_cast<T>(1.0 / sqrt(static_cast<double>(running_var[f]) + eps));
  }
};

/// Common to apply and backward: z, and the epilogue.
template <int N, Activation kActivation, bool kDropout, class S>
struct Affine {
  using T = Accumulator<S>;
  const S* x;
  const T *mean, *rstd;
  const S *gamma, *beta;
  int64_t width;
  DropoutMask mask;
  T factor;

  struct Columns {
    Pack<T, N> mean, scale, beta;

    // Shared by forward and backward, so that they agree on the sign of z, with equal rounding.
    __device__ T z(T x, int k) const { return fma(x - mean[k], scale[k], beta[k]); }
  };
  __device__ Columns open(int64_t pack) const {
    Columns columns{load<N>(mean + pack * N), load<N>(rstd + pack * N), load_wide<N>(beta + pack * N)};
    const Pack<T, N> weight = load_wide<N>(gamma + pack * N);
#pragma unroll
    for (int k = 0; k < N; ++k) columns.scale[k] *= weight[k];
    return columns;
  }
  __device__ uint32_t kept(int64_t offset) const {
    if constexpr (kDropout) {
      return mask.kept<N>(offset);
    } else {
      return 0;
    }
  }
  __device__ T forward(T z, [[maybe_unused]] bool keep) const {
    z = activated<kActivation>(z, T{0});
    if constexpr (kDropout) z = keep ? z * factor : T{0};
    return z;
  }
  __device__ T backward(T dy, [[maybe_unused]] T z, [[maybe_unused]] bool keep) const {
    if constexpr (kDropout) dy = keep ? dy * factor : T{0};
    if constexpr (kActivation == Activation::relu) return z > T{0} ? dy : T{0};
    return dy * activation_slope<kActivation>(z, T{0});
  }
};

template <int N, Activation kActivation, bool kDropout, class S>
struct Apply : Affine<N, kActivation, kDropout, S> {
  using Base = Affine<N, kActivation, kDropout, S>;
  S* y;

  __device__ void row(const typename Base::Columns& columns, int64_t row, int64_t pack) const {
    const int64_t offset = row * this->width + pack * N;
    Pack<Accumulator<S>, N> values = load_wide<N>(this->x + offset);
    const uint32_t kept = this->kept(offset);
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = this->forward(columns.z(values[k], k), (kept >> k & 1u) != 0);
    store_narrow<N>(y + offset, values);
  }
};

// With g the gradient before the epilogue: dbeta = Σ g, dgamma = rstd Σ g (x - mean). If these are stored
// narrower than the accumulators, the sums are also kept for dx.
template <int N, Activation kActivation, bool kDropout, class S>
struct BackwardSums : Affine<N, kActivation, kDropout, S> {
  using Base = Affine<N, kActivation, kDropout, S>;
  using T = Accumulator<S>;
  using Term = T;
  const S* dy;
  S *dgamma, *dbeta;
  T *gamma_sum, *beta_sum;

  __device__ void add(const typename Base::Columns& columns, int64_t row, int64_t pack,
                      Term (&sum)[2][N]) const {
    const int64_t offset = row * this->width + pack * N;
    const Pack<T, N> values = load_wide<N>(this->x + offset), gradient = load_wide<N>(dy + offset);
    const uint32_t kept = this->kept(offset);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const T g = this->backward(gradient[k], columns.z(values[k], k), (kept >> k & 1u) != 0);
      sum[0][k] += g;
      sum[1][k] = fma(g, values[k] - columns.mean[k], sum[1][k]);
    }
  }
  __device__ void finish(int64_t column, const double (&total)[2]) const {
    const T beta = static_cast<T>(total[0]);
    const T gamma = static_cast<T>(total[1] * static_cast<double>(this->rstd[column]));
    dbeta[column] = narrow<S>(beta);
    dgamma[column] = narrow<S>(gamma);
    if (!std::is_same_v<S, T> || static_cast<void*>(beta_sum) != dbeta) {
      beta_sum[column] = beta;
      gamma_sum[column] = gamma;
    }
  }
};

// dx = gamma rstd (g - dbeta / rows - x̂ dgamma / rows) with x̂ = (x - mean) rstd. Statistics independent of
// these rows correspond to infinitely many rows.
template <int N, Activation kActivation, bool kDropout, class S>
struct Backward : Affine<N, kActivation, kDropout, S> {
  using Base = Affine<N, kActivation, kDropout, S>;
  using T = Accumulator<S>;
  const S* dy;
  const T *gamma_sum, *beta_sum;
  S* dx;
  T rows;

  struct Columns {
    typename Base::Columns affine;
    Pack<T, N> direct, along;
  };
  __device__ Columns open(int64_t pack) const {
    Columns columns{Base::open(pack), load<N>(beta_sum + pack * N), load<N>(gamma_sum + pack * N)};
    const Pack<T, N> deviation = load<N>(this->rstd + pack * N);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      columns.direct[k] /= rows;
      columns.along[k] *= deviation[k] / rows;
    }
    return columns;
  }
  __device__ void row(const Columns& columns, int64_t row, int64_t pack) const {
    const int64_t offset = row * this->width + pack * N;
    const Pack<T, N> values = load_wide<N>(this->x + offset);
    Pack<T, N> gradient = load_wide<N>(dy + offset);
    const uint32_t kept = this->kept(offset);
    const auto& affine = columns.affine;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const T g = this->backward(gradient[k], affine.z(values[k], k), (kept >> k & 1u) != 0);
      gradient[k] =
          affine.scale[k] * (g - columns.direct[k] - (values[k] - affine.mean[k]) * columns.along[k]);
    }
    store_narrow<N>(dx + offset, gradient);
  }
};

template <int N, Activation kActivation, bool kDropout, class S, class Args>
Affine<N, kActivation, kDropout, S> affine(const Args& args) {
  using T = Accumulator<S>;
  return {args.x.template data<S>(),
          args.mean.template data<T>(),
          args.rstd.template data<T>(),
          args.gamma.template data<S>(),
          args.beta.template data<S>(),
          args.x.size(1),
          DropoutMask{args.epilogue.key, args.epilogue.rule.threshold},
          static_cast<T>(args.epilogue.rule.scale)};
}

/// Calls `f.template operator()<N, kActivation, kDropout>()`. With dropout a thread takes the eight elements
/// of a Philox block if possible.
template <class S, class F>
void dispatch_epilogue(int64_t width, bool aligned, const Epilogue& epilogue, F&& f) {
  const auto go = [&]<int N, bool kDropout>() {
    dispatch_epilogue_activation(epilogue.activation,
                                 [&]<Activation A>() { f.template operator()<N, A, kDropout>(); });
  };
  if constexpr (std::is_same_v<S, float>) {
    if (epilogue.dropout && aligned && width % 8 == 0) return go.template operator()<8, true>();
  }
  dispatch_pack<S>(width, aligned, [&]<int N>() {
    epilogue.dropout ? go.template operator()<N, true>() : go.template operator()<N, false>();
  });
}

}  // namespace

namespace {

template <class S, class Store>
void column_statistics(const char* name, const Tensor& x, const Store& store) {
  const S* in = x.data<S>();
  dispatch_pack<S>(x.size(1), aligned_to_16(in), [&]<int kWidest>() {
    constexpr int N = std::min(kWidest, 4);  // the sums are in double
    sum_over_rows<2, N>(name, x.device().index, x.size(0), x.size(1),
                        Statistics<N, S, Store>{in, x.size(0), x.size(1), store});
  });
}

}  // namespace

void batch_norm_statistics(const BatchNormStatisticsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    column_statistics<S>("batch_norm_statistics", args.x, store_statistics<Accumulator<S>>(args));
  });
}

void batch_norm_moments(const BatchNormMomentsArgs& args) {
  if (args.x.size(0) == 0) return args.moments.fill_(0.0);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    column_statistics<S>("batch_norm_moments", args.x,
                         StoreMoments{args.moments.mutable_data<double>(), args.x.size(1)});
  });
}

void batch_norm_merge(const BatchNormMergeArgs& args) {
  dispatch_float(args.mean.dtype(), "batch_norm_merge", [&]<class T>() {
    MergeMoments<T> merge{
        args.moments.data<double>(), args.mean.numel(), std::ssize(args.rows), {}, store_statistics<T>(args)};
    std::copy(args.rows.begin(), args.rows.end(), merge.rows);
    for_each("batch_norm_merge", args.moments.device().index, args.mean.numel(), merge);
  });
}

void batch_norm_running(const BatchNormRunningArgs& args) {
  dispatch_float(args.running_mean.dtype(), "batch_norm_running", [&]<class T>() {
    for_each("batch_norm_running", args.mean.device().index, args.mean.numel(),
             Running<T>{args.running_mean.data<T>(), args.running_var.data<T>(), args.eps,
                        args.mean.mutable_data<T>(), args.rstd.mutable_data<T>()});
  });
}

void batch_norm_apply(const BatchNormApplyArgs& args) {
  const int64_t width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    S* out = args.y.mutable_data<S>();
    const bool aligned = aligned_to_16(args.x.data<S>(), args.mean.data<T>(), args.rstd.data<T>(),
                                       args.gamma.data<S>(), args.beta.data<S>(), out);
    dispatch_epilogue<S>(width, aligned, args.epilogue, [&]<int N, Activation kActivation, bool kDropout>() {
      map_columns<N>("batch_norm_apply", args.x.device().index, args.x.size(0), width,
                     Apply<N, kActivation, kDropout, S>{affine<N, kActivation, kDropout, S>(args), out});
    });
  });
}

void batch_norm_backward(const BatchNormBackwardArgs& args) {
  const int device = args.x.device().index;
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const int64_t all_rows = args.all_rows > 0 ? args.all_rows : rows;
    const T count = args.of_batch ? static_cast<T>(all_rows) : std::numeric_limits<T>::infinity();
    const S* gradient = args.dy.data<S>();
    S *out = args.dx.mutable_data<S>(), *to_gamma = args.dgamma.mutable_data<S>(),
      *to_beta = args.dbeta.mutable_data<S>();
    T *gamma_sum = nullptr, *beta_sum = nullptr;
    Tensor sums;
    if (std::is_same_v<S, T> && !args.sum_over_ranks) {
      gamma_sum = reinterpret_cast<T*>(to_gamma), beta_sum = reinterpret_cast<T*>(to_beta);
    } else {
      sums = Tensor::empty({2, width}, dtype_of<T>(), args.x.device());
      gamma_sum = sums.mutable_data<T>(), beta_sum = gamma_sum + width;
    }
    const bool aligned =
        aligned_to_16(args.x.data<S>(), args.mean.data<T>(), args.rstd.data<T>(), args.gamma.data<S>(),
                      args.beta.data<S>(), gradient, out, gamma_sum, beta_sum);
    dispatch_epilogue<S>(width, aligned, args.epilogue, [&]<int N, Activation kActivation, bool kDropout>() {
      const auto common = affine<N, kActivation, kDropout, S>(args);
      sum_over_rows<2, N>("batch_norm_backward", device, rows, width,
                          BackwardSums<N, kActivation, kDropout, S>{common, gradient, to_gamma, to_beta,
                                                                    gamma_sum, beta_sum});
      if (args.sum_over_ranks) args.sum_over_ranks(sums);
      map_columns<N>(
          "batch_norm_backward", device, rows, width,
          Backward<N, kActivation, kDropout, S>{common, gradient, gamma_sum, beta_sum, out, count});
    });
  });
}

}  // namespace adj::kernels::cuda
