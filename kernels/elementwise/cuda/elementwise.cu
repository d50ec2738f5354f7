#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <cstring>

namespace adj::kernels::cuda {

namespace {

template <class T>
struct Scale {
  T alpha;
  __device__ T operator()(T a) const { return alpha * a; }
};

template <class T>
struct LinearCombination {
  T alpha, beta;
  __device__ T operator()(T a, T b) const { return alpha * a + beta * b; }
};

template <class T>
struct Multiply {
  __device__ T operator()(T a, T b) const { return a * b; }
};

template <class T>
struct MultiplyScalar {
  const T* factor;
  __device__ T operator()(T a) const { return a * *factor; }
};

// N divides the width, so a pack lies in one row. Index is unsigned int if it can count the packs: its
// division is several times cheaper.
template <int N, class Index, class S>
__global__ void __launch_bounds__(kBlockThreads)
    add_bias_kernel(Index packs, Index packs_per_row, const S* x, const S* bias, S* y) {
  using T = Accumulator<S>;
  begin_overlapping();
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += step) {
    Pack<T, N> pack = load_wide<N>(x + static_cast<int64_t>(i) * N);
    const Pack<T, N> shift = load_wide<N>(bias + static_cast<int64_t>(i % packs_per_row) * N);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] += shift[k];
    store_narrow<N>(y + static_cast<int64_t>(i) * N, pack);
  }
}

template <int N, class Index, class S>
__global__ void __launch_bounds__(kBlockThreads)
    scale_rows_kernel(Index packs, Index packs_per_row, const S* x, const S* s, S* y) {
  using T = Accumulator<S>;
  begin_overlapping();
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs; i += step) {
    Pack<T, N> pack = load_wide<N>(x + static_cast<int64_t>(i) * N);
    const T factor = widen(s[i / packs_per_row]);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] *= factor;
    store_narrow<N>(y + static_cast<int64_t>(i) * N, pack);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    permute_kernel(int64_t n, const T* x, const int32_t* order, T* y) {
  begin_overlapping();
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; k < n; k += step) y[k] = x[order[k]];
}

template <class T>
void permute_as(const Tensor& x, const Tensor& order, Tensor& y) {
  launch("permute", over(x.device().index, y.numel()), permute_kernel<T>, y.numel(),
         static_cast<const T*>(x.raw_data()), order.data<int32_t>(), static_cast<T*>(y.raw_mutable_data()));
}

}  // namespace

void linear_combination(const LinearCombinationArgs& args) {
  const double alpha = args.alpha;
  const double beta = args.beta;
  const int device = args.a.device().index;
  dispatch_features(args.a.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    if (args.b) {
      const LinearCombination<T> combine{static_cast<T>(alpha), static_cast<T>(beta)};
      map("linear_combination", device, args.a.numel(), combine, args.y.mutable_data<S>(), args.a.data<S>(),
          args.b.data<S>());
    } else {
      map("linear_combination", device, args.a.numel(), Scale<T>{static_cast<T>(alpha)},
          args.y.mutable_data<S>(), args.a.data<S>());
    }
  });
}

void multiply(const MultiplyArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class S>() {
    map("multiply", args.a.device().index, args.a.numel(), Multiply<Accumulator<S>>{},
        args.y.mutable_data<S>(), args.a.data<S>(), args.b.data<S>());
  });
}

void multiply_scalar(const MultiplyScalarArgs& args) {
  dispatch_features(args.a.dtype(), [&]<class S>() {
    map("multiply_scalar", args.a.device().index, args.a.numel(),
        MultiplyScalar<Accumulator<S>>{args.s.data<Accumulator<S>>()}, args.y.mutable_data<S>(),
        args.a.data<S>());
  });
}

namespace {

// Calls f<N, Index>(packs, packs_per_row) for the widest packs that rows of `width` allow.
template <class S, class F>
void dispatch_row_packs(int64_t n, int64_t width, bool aligned, F&& f) {
  constexpr int kWidth = kVectorWidth<S>;
  // The grid stride is added to an index below n: 2^31 leaves room for it.
  const bool narrow = n < (int64_t{1} << 31);
  const auto go = [&]<int N>() {
    if (narrow) {
      f.template operator()<N, uint32_t>(static_cast<uint32_t>(n / N), static_cast<uint32_t>(width / N));
    } else {
      f.template operator()<N, int64_t>(n / N, width / N);
    }
  };
  if (aligned && width % kWidth == 0) {
    go.template operator()<kWidth>();
  } else {
    go.template operator()<1>();
  }
}

}  // namespace

void add_bias(const AddBiasArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S *in = args.x.data<S>(), *shift = args.bias.data<S>();
    S* out = args.y.mutable_data<S>();
    dispatch_row_packs<S>(args.x.numel(), args.x.size(1), aligned_to_16(in, shift, out),
                          [&]<int N, class Index>(Index packs, Index per_row) {
                            launch("add_bias", over(args.x.device().index, packs),
                                   add_bias_kernel<N, Index, S>, packs, per_row, in, shift, out);
                          });
  });
}

void scale_rows(const ScaleRowsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S *in = args.x.data<S>(), *factor = args.s.data<S>();
    S* out = args.y.mutable_data<S>();
    dispatch_row_packs<S>(args.x.numel(), args.x.size(1), aligned_to_16(in, out),
                          [&]<int N, class Index>(Index packs, Index per_row) {
                            launch("scale_rows", over(args.x.device().index, packs),
                                   scale_rows_kernel<N, Index, S>, packs, per_row, in, factor, out);
                          });
  });
}

void permute(const PermuteArgs& args) {
  switch (size_of(args.x.dtype())) {
    case 1:
      return permute_as<uint8_t>(args.x, args.order, args.y);
    case 2:
      return permute_as<uint16_t>(args.x, args.order, args.y);
    case 4:
      return permute_as<uint32_t>(args.x, args.order, args.y);
    default:
      return permute_as<uint64_t>(args.x, args.order, args.y);
  }
}

}  // namespace adj::kernels::cuda
