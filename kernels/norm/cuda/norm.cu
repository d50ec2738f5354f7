// Row norms: a group of lanes holds a row in registers for all passes, so that each byte is read once.
#include <adjoint/kernels/cuda/columns.cuh>
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/norm/norm.h>

#include <limits>

namespace adj::kernels::cuda {

namespace {

template <class S>
struct LayerNorm {
  using T = Accumulator<S>;
  const S *x, *gamma, *beta;
  int64_t width;
  T eps;
  T *mean, *rstd;
  S* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    const RowView<S, N, kLanes, kHeld> view(x, width, row, lane);
    const T count = static_cast<T>(width);
    const T m = view.sum([](int64_t, T value) { return value; }) / count;
    const T variance = view.sum([m](int64_t, T value) { return (value - m) * (value - m); }) / count;
    const T r = T{1} / sqrt(variance + eps);
    if (row < 0) return;
    if (lane == 0) {
      mean[row] = m;
      rstd[row] = r;
    }
    view.each([&](int64_t column, Pack<T, N> pack) {
      const Pack<T, N> weight = load_wide<N>(gamma + column), shift = load_wide<N>(beta + column);
#pragma unroll
      for (int k = 0; k < N; ++k) pack[k] = (pack[k] - m) * r * weight[k] + shift[k];
      store_narrow<N>(y + row * width + column, pack);
    });
  }
};

// With x̂ = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean_f g - x̂ mean_f (g x̂)).
template <class S>
struct LayerNormBackward {
  using T = Accumulator<S>;
  const S* x;
  const T *mean, *rstd;
  const S *gamma, *dy;
  int64_t width;
  S* dx;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    const RowView<S, N, kLanes, kHeld> in(x, width, row, lane), gradient(dy, width, row, lane);
    const T m = row < 0 ? T{0} : mean[row], r = row < 0 ? T{0} : rstd[row];
    const T count = static_cast<T>(width);
    T direct = 0, along = 0;
    both(in, gradient, [&](int64_t column, const Pack<T, N>& value, const Pack<T, N>& d) {
      const Pack<T, N> weight = load_wide<N>(gamma + column);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const T g = d[k] * weight[k];
        direct += g;
        along += g * ((value[k] - m) * r);
      }
    });
    direct = sum_of_lanes<kLanes>(direct) / count;
    along = sum_of_lanes<kLanes>(along) / count;
    if (row < 0) return;
    both(in, gradient, [&](int64_t column, const Pack<T, N>& value, Pack<T, N> d) {
      const Pack<T, N> weight = load_wide<N>(gamma + column);
#pragma unroll
      for (int k = 0; k < N; ++k) d[k] = r * (d[k] * weight[k] - direct - (value[k] - m) * r * along);
      store_narrow<N>(dx + row * width + column, d);
    });
  }
};

// dgamma = Σ dy x̂, dbeta = Σ dy.
template <int N, class S>
struct LayerNormSums {
  using T = Accumulator<S>;
  using Term = T;
  const S* x;
  const T *mean, *rstd;
  const S* dy;
  int64_t width;
  S *dgamma, *dbeta;

  struct Columns {};
  __device__ Columns open(int64_t) const { return {}; }
  __device__ void add(Columns, int64_t row, int64_t pack, T (&sum)[2][N]) const {
    const Pack<T, N> values = load_wide<N>(x + row * width + pack * N);
    const Pack<T, N> d = load_wide<N>(dy + row * width + pack * N);
    const T m = mean[row], r = rstd[row];
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sum[0][k] = fma(d[k], (values[k] - m) * r, sum[0][k]);
      sum[1][k] += d[k];
    }
  }
  __device__ void finish(int64_t column, const double (&total)[2]) const {
    dgamma[column] = narrow<S>(static_cast<T>(total[0]));
    dbeta[column] = narrow<S>(static_cast<T>(total[1]));
  }
};

template <class S>
struct L2Normalize {
  using T = Accumulator<S>;
  const S* x;
  int64_t width;
  T eps;
  T* scale;
  S* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    const RowView<S, N, kLanes, kHeld> view(x, width, row, lane);
    const T norm = sqrt(view.sum([](int64_t, T value) { return value * value; }));
    const T s = T{1} / (norm < eps ? eps : norm);  // NaN propagates
    if (row < 0) return;
    if (lane == 0) scale[row] = s;
    scale_row(view, s, y + row * width);
  }
};

template <class S>
struct L2NormalizeBackward {
  using T = Accumulator<S>;
  const S* y;
  const T* scale;
  const S* dy;
  int64_t width;
  S* dx;
  T largest;  // scale, of rows that are shorter than eps

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    const RowView<S, N, kLanes, kHeld> out(y, width, row, lane), gradient(dy, width, row, lane);
    T along = 0;
    both(out, gradient, [&](int64_t, const Pack<T, N>& value, const Pack<T, N>& d) {
#pragma unroll
      for (int k = 0; k < N; ++k) along += value[k] * d[k];
    });
    along = sum_of_lanes<kLanes>(along);
    if (row < 0) return;
    const T s = scale[row];
    if (!(s < largest)) along = 0;
    both(out, gradient, [&](int64_t column, const Pack<T, N>& value, Pack<T, N> d) {
#pragma unroll
      for (int k = 0; k < N; ++k) d[k] = s * (d[k] - along * value[k]);
      store_narrow<N>(dx + row * width + column, d);
    });
  }
};

template <class S>
struct SumNormalize {
  using T = Accumulator<S>;
  const S* x;
  int64_t width;
  S* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    const RowView<S, N, kLanes, kHeld> view(x, width, row, lane);
    const T sum = view.sum([](int64_t, T value) { return value; });
    if (row < 0) return;
    if (sum == T{0} || fabs(sum) >= std::numeric_limits<T>::min())
      return scale_row(view, sum == T{0} ? T{1} : T{1} / sum, y + row * width);
    // A denormal sum has no finite reciprocal.
    const T lift = T(0x1p64), s = T{1} / (sum * lift);
    view.each([&](int64_t column, Pack<T, N> pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) pack[k] = pack[k] * lift * s;
      store_narrow<N>(y + row * width + column, pack);
    });
  }
};

}  // namespace

void layer_norm(const LayerNormArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const LayerNorm<S> body{args.x.data<S>(),
                            args.gamma.data<S>(),
                            args.beta.data<S>(),
                            args.x.size(1),
                            static_cast<T>(args.eps),
                            args.mean.mutable_data<T>(),
                            args.rstd.mutable_data<T>(),
                            args.y.mutable_data<S>()};
    map_rows<S>("layer_norm", args.x.device().index, args.x.size(0), args.x.size(1),
                aligned_to_16(body.x, body.gamma, body.beta, body.y), body);
  });
}

void layer_norm_backward(const LayerNormBackwardArgs& args) {
  const int device = args.x.device().index;
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const S *in = args.x.data<S>(), *gradient = args.dy.data<S>(), *weight = args.gamma.data<S>();
    const T *means = args.mean.data<T>(), *deviations = args.rstd.data<T>();
    S* out = args.dx.mutable_data<S>();
    // Column sums first: args.dx may be args.dy.
    dispatch_pack<S>(width, aligned_to_16(in, gradient), [&]<int N>() {
      sum_over_rows<2, N>("layer_norm_backward", device, rows, width,
                          LayerNormSums<N, S>{in, means, deviations, gradient, width,
                                              args.dgamma.mutable_data<S>(), args.dbeta.mutable_data<S>()});
    });
    map_rows<S>("layer_norm_backward", device, rows, width, aligned_to_16(in, gradient, weight, out),
                LayerNormBackward<S>{in, means, deviations, weight, gradient, width, out});
  });
}

void l2_normalize_rows(const L2NormalizeRowsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const L2Normalize<S> body{args.x.data<S>(), args.x.size(1), static_cast<T>(args.eps),
                              args.scale.mutable_data<T>(), args.y.mutable_data<S>()};
    map_rows<S>("l2_normalize_rows", args.x.device().index, args.x.size(0), args.x.size(1),
                aligned_to_16(body.x, body.y), body);
  });
}

void l2_normalize_rows_backward(const L2NormalizeRowsBackwardArgs& args) {
  dispatch_features(args.y.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    const L2NormalizeBackward<S> body{args.y.data<S>(),          args.scale.data<T>(),
                                      args.dy.data<S>(),         args.y.size(1),
                                      args.dx.mutable_data<S>(), T{1} / static_cast<T>(args.eps)};
    map_rows<S>("l2_normalize_rows_backward", args.y.device().index, args.y.size(0), args.y.size(1),
                aligned_to_16(body.y, body.dy, body.dx), body);
  });
}

void sum_normalize_rows(const SumNormalizeRowsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const SumNormalize<S> body{args.x.data<S>(), args.x.size(1), args.y.mutable_data<S>()};
    map_rows<S>("sum_normalize_rows", args.x.device().index, args.x.size(0), args.x.size(1),
                aligned_to_16(body.x, body.y), body);
  });
}

}  // namespace adj::kernels::cuda
