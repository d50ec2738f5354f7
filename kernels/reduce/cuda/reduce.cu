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

}  // namespace adj::kernels::cuda
