#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/elementwise.h>

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

// N divides the width, so a pack lies in one row.
template <int N, class Index, class S>
struct AddBias {
  Index packs_per_row;
  const S *x, *bias;
  S* y;

  __device__ void operator()(Index i) const {
    Pack<Accumulator<S>, N> pack = load_wide<N>(x + static_cast<int64_t>(i) * N);
    const auto shift = load_wide<N>(bias + static_cast<int64_t>(i % packs_per_row) * N);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] += shift[k];
    store_narrow<N>(y + static_cast<int64_t>(i) * N, pack);
  }
};

template <int N, class Index, class S>
struct ScaleRows {
  Index packs_per_row;
  const S *x, *s;
  S* y;

  __device__ void operator()(Index i) const {
    Pack<Accumulator<S>, N> pack = load_wide<N>(x + static_cast<int64_t>(i) * N);
    const Accumulator<S> factor = widen(s[i / packs_per_row]);
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] *= factor;
    store_narrow<N>(y + static_cast<int64_t>(i) * N, pack);
  }
};

/// Runs Body<N, Index, S>{packs per row, x, other, y} for every pack of x.
template <template <int, class, class> class Body, class S>
void for_each_pack(const char* name, const Tensor& x, bool aligned, const S* other, Tensor& y) {
  const int64_t width = x.size(1);
  const S* in = x.data<S>();
  S* out = y.mutable_data<S>();
  dispatch_pack<S>(width, aligned && aligned_to_16(in, out), [&]<int N>() {
    for_each_narrow(name, x.device().index, x.numel() / N, [&]<class Index>() {
      return Body<N, Index, S>{static_cast<Index>(width / N), in, other, out};
    });
  });
}

template <class T>
void permute_as(const Tensor& x, const Tensor& order, Tensor& y) {
  const T* in = static_cast<const T*>(x.raw_data());
  const int32_t* source = order.data<int32_t>();
  T* out = static_cast<T*>(y.raw_mutable_data());
  for_each("permute", x.device().index, y.numel(), [=] __device__(int64_t k) { out[k] = in[source[k]]; });
}

}  // namespace

void linear_combination(const LinearCombinationArgs& args) {
  const int device = args.a.device().index;
  dispatch_features(args.a.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    if (args.b) {
      const LinearCombination<T> combine{static_cast<T>(args.alpha), static_cast<T>(args.beta)};
      map("linear_combination", device, args.a.numel(), combine, args.y.mutable_data<S>(), args.a.data<S>(),
          args.b.data<S>());
    } else {
      map("linear_combination", device, args.a.numel(), Scale<T>{static_cast<T>(args.alpha)},
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

void add_bias(const AddBiasArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* bias = args.bias.data<S>();
    for_each_pack<AddBias>("add_bias", args.x, aligned_to_16(bias), bias, args.y);
  });
}

void scale_rows(const ScaleRowsArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    for_each_pack<ScaleRows>("scale_rows", args.x, true, args.s.data<S>(), args.y);
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
