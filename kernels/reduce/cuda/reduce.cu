#include <adjoint/kernels/cuda/columns.cuh>
#include <adjoint/kernels/cuda/rows.cuh>
#include <adjoint/kernels/reduce/reduce.h>

#include <limits>

namespace adj::kernels::cuda {

namespace {

struct NoColumns {};

template <int N, class S>
struct SumRows {
  const S* x;
  int64_t width;
  S* y;

  using Term = Accumulator<S>;
  __device__ NoColumns open(int64_t) const { return {}; }
  __device__ void add(NoColumns, int64_t row, int64_t pack, Term (&sum)[1][N]) const {
    const Pack<Term, N> values = load_wide<N>(x + row * width + pack * N);
#pragma unroll
    for (int k = 0; k < N; ++k) sum[0][k] += values[k];
  }
  __device__ void finish(int64_t column, const double (&total)[1]) const {
    y[column] = narrow<S>(static_cast<Accumulator<S>>(total[0]));
  }
};

template <class S>
struct SumColumns {
  const S* x;
  int64_t width;
  S* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using T = Accumulator<S>;
    const RowView<S, N, kLanes, kHeld> view(x, width, row, lane);
    const T total = view.sum([](int64_t, T value) { return value; });
    if (row >= 0 && lane == 0) y[row] = narrow<S>(total);
  }
};

template <class S>
struct ArgmaxColumns {
  const S* x;
  int64_t width;
  int32_t* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using T = Accumulator<S>;
    const RowView<S, N, kLanes, kHeld> view(x, width, row, lane);
    // Columns ascend within a lane, so the first of equal values wins.
    T largest = -std::numeric_limits<T>::infinity();
    int where = std::numeric_limits<int>::max();
    view.each([&](int64_t column, const Pack<T, N>& pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        if (pack[k] > largest || (pack[k] == largest && where == std::numeric_limits<int>::max())) {
          largest = pack[k];
          where = static_cast<int>(column) + k;
        }
      }
    });
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      const T other = __shfl_xor_sync(0xffffffffu, largest, offset);
      const int its = __shfl_xor_sync(0xffffffffu, where, offset);
      if (other > largest || (other == largest && its < where)) {
        largest = other;
        where = its;
      }
    }
    if (row >= 0 && lane == 0) y[row] = where < width ? where : 0;  // all NaN: 0
  }
};

// Item i is elements [i N, i N + N); the last may have fewer.
template <int N, class S>
struct Elements {
  const S* x;
  int64_t n;

  __device__ double operator()(int64_t i) const {
    double sum = 0;
    if (i * N + N <= n) {
      const Pack<Accumulator<S>, N> pack = load_wide<N>(x + i * N);
#pragma unroll
      for (int k = 0; k < N; ++k) sum += static_cast<double>(pack[k]);
    } else {
      for (int64_t j = i * N; j < n; ++j) sum += static_cast<double>(widen(x[j]));
    }
    return sum;
  }
};

template <class T>
struct StoreScaled {
  double scale;
  T* y;
  __device__ void operator()(double sum) const { *y = static_cast<T>(scale * sum); }
};

struct Equal {
  const int32_t *a, *b, *index;
  __device__ int64_t operator()(int64_t k) const {
    const int64_t i = index != nullptr ? index[k] : k;
    return a[i] == b[i];
  }
};

struct StoreCount {
  int64_t* y;
  __device__ void operator()(int64_t count) const { *y = count; }
};

// A group of lanes holds a row in registers, so that each byte is read once: x forward, y and dy backward.

template <bool kLog, class T>
struct Softmax {
  const T* x;
  int64_t width;
  T* y;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using W = Accumulator<T>;
    const RowView<T, N, kLanes, kHeld> view(x, width, row, lane);
    W largest, total;
    soft_maximum(view, largest, total);
    if (row < 0) return;
    const W normalizer = kLog ? log(total) : W{1} / total;
    view.each([&](int64_t column, Pack<W, N> pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const W above = pack[k] - largest;
        pack[k] = kLog ? above - normalizer : exp(above) * normalizer;
      }
      store_narrow<N>(y + row * width + column, pack);
    });
  }
};

template <bool kLog, class T>
struct SoftmaxBackward {
  const T *y, *dy;
  int64_t width;
  T* dx;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using W = Accumulator<T>;
    const RowView<T, N, kLanes, kHeld> out(y, width, row, lane), gradient(dy, width, row, lane);
    W sum = 0;
    both(out, gradient, [&](int64_t, const Pack<W, N>& p, const Pack<W, N>& g) {
#pragma unroll
      for (int k = 0; k < N; ++k) sum += kLog ? g[k] : g[k] * p[k];
    });
    sum = sum_of_lanes<kLanes>(sum);
    if (row < 0) return;
    both(out, gradient, [&](int64_t column, const Pack<W, N>& p, Pack<W, N> g) {
#pragma unroll
      for (int k = 0; k < N; ++k) g[k] = kLog ? g[k] - exp(p[k]) * sum : p[k] * (g[k] - sum);
      store_narrow<N>(dx + row * width + column, g);
    });
  }
};

// A thread reduces one segment of the middle dimension at one position of the others, so that reads are
// coalesced; with several segments, a second launch merges them in order. Their number depends only on the
// shape. A maximum over the last dimension gives each row to a group of lanes instead. x is read once. For a
// maximum the winners are saved: dx is zeroed and written at them, x is not needed.

struct Segments {
  int64_t outer, n, inner, count;

  explicit Segments(const Tensor& x) : outer(x.size(0)), n(x.size(1)), inner(x.size(2)) {
    constexpr int64_t kThreads = int64_t{1} << 17;  // enough to fill a GPU
    constexpr int64_t kLeast = 64;                  // elements that are worth a thread
    const int64_t wanted = ceil_div(kThreads, std::max<int64_t>(1, outer * inner));
    count = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, n / kLeast));
  }
  int64_t items() const { return outer * count * inner; }
};

/// Elements of item i: first + k inner, k in [begin, end).
struct Segment {
  int64_t first, begin, end;

  __device__ Segment(const Segments& all, int64_t i) {
    const int64_t row = i / all.inner, outer = row / all.count, s = row - outer * all.count;
    first = outer * all.n * all.inner + (i - row * all.inner);
    begin = all.n * s / all.count;
    end = all.n * (s + 1) / all.count;
  }
};

/// Index of result i's first segment among the items; the others follow at stride `inner`.
__device__ __forceinline__ int64_t first_item(const Segments& all, int64_t i) {
  const int64_t outer = i / all.inner;
  return outer * all.count * all.inner + (i - outer * all.inner);
}

template <class Out, class T>
struct SumSegments {
  Segments all;
  const T* x;
  Out* sums;

  __device__ void operator()(int64_t i) const {
    const Segment segment(all, i);
    double sum = 0.0;
    for (int64_t k = segment.begin; k < segment.end; ++k)
      sum += static_cast<double>(widen(x[segment.first + k * all.inner]));
    sums[i] = static_cast<Out>(static_cast<Accumulator<Out>>(sum));
  }
};

template <class T>
struct MergeSums {
  Segments all;
  const double* sums;
  T* y;

  __device__ void operator()(int64_t i) const {
    const double* of_segment = sums + first_item(all, i);
    double sum = 0.0;
    for (int64_t s = 0; s < all.count; ++s) sum += of_segment[s * all.inner];
    y[i] = narrow<T>(static_cast<Accumulator<T>>(sum));
  }
};

/// Whether `value` replaces `best`. NaN does, and stays.
template <class W>
__device__ __forceinline__ bool beats(W value, W best) {
  return value > best || (value != value && best == best);
}

template <class T>
struct MaxSegments {
  Segments all;
  const T* x;
  int32_t* winner;

  __device__ void operator()(int64_t i) const {
    const Segment segment(all, i);
    int64_t where = segment.begin;
    Accumulator<T> best = widen(x[segment.first + where * all.inner]);
    for (int64_t k = segment.begin + 1; k < segment.end; ++k) {
      const Accumulator<T> value = widen(x[segment.first + k * all.inner]);
      if (beats(value, best)) {
        best = value;
        where = k;
      }
    }
    winner[i] = static_cast<int32_t>(where);
  }
};

// `winner` may be `of_segments` if there is one segment.
template <class T>
struct MergeWinners {
  Segments all;
  const T* x;
  const int32_t* of_segments;
  T* y;
  int32_t* winner;

  __device__ void operator()(int64_t i) const {
    const int64_t outer = i / all.inner, first = outer * all.n * all.inner + (i - outer * all.inner);
    const int64_t item = first_item(all, i);
    int32_t where = of_segments[item];
    T best = x[first + where * all.inner];
    for (int64_t s = 1; s < all.count; ++s) {
      const int32_t other = of_segments[item + s * all.inner];
      const T value = x[first + other * all.inner];
      if (beats(widen(value), widen(best))) {
        best = value;
        where = other;
      }
    }
    y[i] = best;
    winner[i] = where;
  }
};

template <class T>
struct MaxOfRow {
  const T* x;
  int64_t width;
  T* y;
  int32_t* winner;

  template <int N, int kLanes, int kHeld>
  __device__ void row(int64_t row, int lane) const {
    using W = Accumulator<T>;
    constexpr int kNone = std::numeric_limits<int>::max();
    const RowView<T, N, kLanes, kHeld> view(x, width, row, lane);
    // Columns ascend within a lane, so the first of equal values wins.
    W best = -std::numeric_limits<W>::infinity();
    int where = kNone;
    view.each([&](int64_t column, const Pack<W, N>& pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const W value = pack[k];
        if (where == kNone || beats(value, best)) {
          best = value;
          where = static_cast<int>(column) + k;
        }
      }
    });
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      const W other = __shfl_xor_sync(0xffffffffu, best, offset);
      const int its = __shfl_xor_sync(0xffffffffu, where, offset);
      const bool tie = !beats(other, best) && !beats(best, other);
      if (its != kNone && (where == kNone || beats(other, best) || (tie && its < where))) {
        best = other;
        where = its;
      }
    }
    if (row < 0 || lane != 0) return;
    y[row] = narrow<T>(best);
    winner[row] = where;
  }
};

template <class T>
struct ToWinners {
  int64_t n, inner;
  const int32_t* winner;
  const T* dy;
  T* dx;

  __device__ void operator()(int64_t i) const {
    const int64_t outer = i / inner;
    dx[(outer * n + winner[i]) * inner + (i - outer * inner)] = dy[i];
  }
};

}  // namespace

void sum_rows(const SumRowsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    dispatch_pack<S>(args.x.size(1), aligned_to_16(in), [&]<int N>() {
      sum_over_rows<1, N>("sum_rows", args.x.device().index, args.x.size(0), args.x.size(1),
                          SumRows<N, S>{in, args.x.size(1), args.y.mutable_data<S>()});
    });
  });
}

void sum_columns(const SumColumnsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    map_rows<S>("sum_columns", args.x.device().index, args.x.size(0), args.x.size(1), aligned_to_16(in),
                SumColumns<S>{in, args.x.size(1), args.y.mutable_data<S>()});
  });
}

void sum_all(const SumAllArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    const int64_t n = args.x.numel();
    const StoreScaled<Accumulator<S>> finish{args.scale, args.y.mutable_data<Accumulator<S>>()};
    if (constexpr int kWidth = kVectorWidth<S>; aligned_to_16(in)) {
      flat_sum<double>("sum_all", args.x.device().index, ceil_div(n, kWidth), Elements<kWidth, S>{in, n},
                       finish);
    } else {
      flat_sum<double>("sum_all", args.x.device().index, n, Elements<1, S>{in, n}, finish);
    }
  });
}

void argmax_columns(const ArgmaxColumnsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    map_rows<S>("argmax_columns", args.x.device().index, args.x.size(0), args.x.size(1), aligned_to_16(in),
                ArgmaxColumns<S>{in, args.x.size(1), args.y.mutable_data<int32_t>()});
  });
}

void count_equal(const CountEqualArgs& args) {
  const Equal equal{args.a.data<int32_t>(), args.b.data<int32_t>(), data_or_null<int32_t>(args.index)};
  flat_sum<int64_t>("count_equal", args.a.device().index, args.index ? args.index.numel() : args.a.numel(),
                    equal, StoreCount{args.y.mutable_data<int64_t>()});
}

void softmax(const SoftmaxArgs& args) {
  const int64_t rows = args.x.size(0), width = args.x.size(1);
  const int device = args.x.device().index;
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    const bool aligned = aligned_to_16(in, static_cast<const T*>(out));
    args.log ? map_rows<T>("log_softmax", device, rows, width, aligned, Softmax<true, T>{in, width, out})
             : map_rows<T>("softmax", device, rows, width, aligned, Softmax<false, T>{in, width, out});
  });
}

void softmax_backward(const SoftmaxBackwardArgs& args) {
  const int64_t rows = args.y.size(0), width = args.y.size(1);
  const int device = args.y.device().index;
  dispatch_features(args.y.dtype(), [&]<class T>() {
    const T *y = args.y.data<T>(), *dy = args.dy.data<T>();
    T* dx = args.dx.mutable_data<T>();
    const bool aligned = aligned_to_16(y, dy, static_cast<const T*>(dx));
    args.log ? map_rows<T>("log_softmax_backward", device, rows, width, aligned,
                           SoftmaxBackward<true, T>{y, dy, width, dx})
             : map_rows<T>("softmax_backward", device, rows, width, aligned,
                           SoftmaxBackward<false, T>{y, dy, width, dx});
  });
}

void sum_dim(const SumDimArgs& args) {
  const Segments all(args.x);
  const int device = args.x.device().index;
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    if (all.count == 1) return for_each("sum_dim", device, all.items(), SumSegments<T, T>{all, in, out});
    Tensor scratch = Tensor::empty({all.items()}, DType::f64, args.x.device());
    double* sums = scratch.mutable_data<double>();
    for_each("sum_dim", device, all.items(), SumSegments<double, T>{all, in, sums});
    for_each("sum_dim", device, args.y.numel(), MergeSums<T>{all, sums, out});
  });
}

void max_dim(const MaxDimArgs& args) {
  const Segments all(args.x);
  const int device = args.x.device().index;
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    int32_t* winner = args.winner.mutable_data<int32_t>();
    if (all.inner == 1)
      return map_rows<T>("max_dim", device, all.outer, all.n, aligned_to_16(in),
                         MaxOfRow<T>{in, all.n, out, winner});
    Tensor scratch = Tensor::empty({all.count > 1 ? all.items() : 0}, DType::i32, args.x.device());
    int32_t* of_segments = all.count > 1 ? scratch.mutable_data<int32_t>() : winner;
    for_each("max_dim", device, all.items(), MaxSegments<T>{all, in, of_segments});
    for_each("max_dim", device, args.y.numel(), MergeWinners<T>{all, in, of_segments, out, winner});
  });
}

void max_dim_backward(const MaxDimBackwardArgs& args) {
  args.dx.zero_();
  dispatch_features(args.dx.dtype(), [&]<class T>() {
    for_each("max_dim_backward", args.dx.device().index, args.dy.numel(),
             ToWinners<T>{args.dx.size(1), args.dx.size(2), args.winner.data<int32_t>(), args.dy.data<T>(),
                          args.dx.mutable_data<T>()});
  });
}

namespace {

template <class T>
struct MergeMeans {
  const T *means, *weights;
  int64_t sets, set;
  T *mean, *share;
  __device__ void operator()(int64_t) const { detail::merge_means(means, weights, sets, set, mean, share); }
};

}  // namespace

void merge_means(const MergeMeansArgs& args) {
  dispatch_float(args.means.dtype(), "merge_means", [&]<class T>() {
    for_each("merge_means", args.means.device().index, 1,
             MergeMeans<T>{args.means.data<T>(), args.weights.data<T>(), args.means.numel(), args.set,
                           args.mean.mutable_data<T>(), args.share.mutable_data<T>()});
  });
}

}  // namespace adj::kernels::cuda
