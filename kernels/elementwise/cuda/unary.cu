// One pass: forward reads x and writes y; backward reads dy and the saved tensor and writes dx.
#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/cuda/activation_functions.cuh>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj::kernels::cuda {

namespace {

template <Unary U, class W>
struct Function {
  W first, second;
  __device__ W operator()(W x) const {
    if constexpr (U == Unary::exp) {
      return exp(x);
    } else if constexpr (U == Unary::log) {
      return log(x);
    } else if constexpr (U == Unary::sqrt) {
      return sqrt(x);
    } else if constexpr (U == Unary::sigmoid) {
      const W e = exp(-fabs(x));
      return (x < W{0} ? e : W{1}) / (W{1} + e);
    } else if constexpr (U == Unary::tanh) {
      return tanh(x);
    } else if constexpr (U == Unary::inverse_sqrt) {
      return x <= W{0} ? W{0} : W{1} / sqrt(x);
    } else if constexpr (U == Unary::abs) {
      return fabs(x);
    } else if constexpr (U == Unary::sin) {
      return sin(x);
    } else if constexpr (U == Unary::cos) {
      return cos(x);
    } else if constexpr (U == Unary::power) {
      return pow(x, first);
    } else if constexpr (U == Unary::clamp) {
      return x < first ? first : x > second ? second : x;
    } else {
      return W{1} / x;
    }
  }
};

template <Unary U, class W>
struct Backward {
  UnarySlope<U> slope;
  __device__ W operator()(W saved, W dy) const { return dy * slope(saved); }
};

template <class W>
struct Affine {
  W scale, shift;
  __device__ W operator()(W x) const { return scale * x + shift; }
};

template <Activation A, class T>
struct Activate {
  T slope;
  __device__ T operator()(T x) const { return activated<A>(x, slope); }
};

template <Activation A, class T>
struct ActivateBackward {
  T slope;
  __device__ T operator()(T x, T dy) const { return dy * activation_slope<A>(x, slope); }
};

/// Elements of a byte's bits, in packs of N; the last byte may have fewer.
template <class T, int N, class F>
__device__ void each_pack(int64_t byte, int64_t n, const T* in, T* out, const F& f) {
#pragma unroll
  for (int part = 0; part < 8; part += N) {
    const int64_t first = 8 * byte + part;
    if (first + N <= n) {
      Pack<T, N> pack = load<N>(in + first);
#pragma unroll
      for (int k = 0; k < N; ++k) pack[k] = f(part + k, pack[k]);
      store(out + first, pack);
    } else {
      for (int k = 0; k < N && first + k < n; ++k) out[first + k] = f(part + k, in[first + k]);
    }
  }
}

template <class T, int N>
struct Relu {
  const T* x;
  T* y;
  uint8_t* positive;
  int64_t n;
  __device__ void operator()(int64_t byte) const {
    unsigned bits = 0;
    each_pack<T, N>(byte, n, x, y, [&](int k, T element) {
      const Accumulator<T> value = widen(element);
      bits |= static_cast<unsigned>(value > 0) << k;
      return narrow<T>(activated<Activation::relu>(value, Accumulator<T>{0}));
    });
    positive[byte] = static_cast<uint8_t>(bits);
  }
};

template <class T, int N>
struct ReluBackward {
  const T* dy;
  T* dx;
  const uint8_t* positive;
  int64_t n;
  __device__ void operator()(int64_t byte) const {
    const unsigned bits = positive[byte];
    each_pack<T, N>(byte, n, dy, dx, [&](int k, T element) {
      return narrow<T>(widen(element) * static_cast<Accumulator<T>>(bits >> k & 1u));
    });
  }
};

/// f.template operator()<N>() with the elements of a pack that both arrays are aligned to.
template <class T, class F>
void dispatch_pack(const T* in, const T* out, F&& f) {
  aligned_to_16(in, out) ? f.template operator()<kVectorWidth<T>>() : f.template operator()<1>();
}

}  // namespace

void unary(const UnaryArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class T>() {
    dispatch_unary(args.function, [&]<Unary U>() {
      map("unary", args.x.device().index, args.x.numel(),
          Function<U, Accumulator<T>>{static_cast<Accumulator<T>>(args.first),
                                      static_cast<Accumulator<T>>(args.second)},
          args.y.mutable_data<T>(), args.x.data<T>());
    });
  });
}

void unary_backward(const UnaryBackwardArgs& args) {
  dispatch_features(args.saved.dtype(), [&]<class T>() {
    dispatch_unary(args.function, [&]<Unary U>() {
      map("unary_backward", args.saved.device().index, args.saved.numel(),
          Backward<U, Accumulator<T>>{{args.first, args.second}}, args.dx.mutable_data<T>(),
          args.saved.data<T>(), args.dy.data<T>());
    });
  });
}

void affine(const AffineArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const Affine<Accumulator<T>> f{static_cast<Accumulator<T>>(args.scale),
                                   static_cast<Accumulator<T>>(args.shift)};
    map("affine", args.x.device().index, args.x.numel(), f, args.y.mutable_data<T>(), args.x.data<T>());
  });
}

void activate(const ActivateArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    dispatch_activation(args.activation, [&]<Activation A>() {
      map("activate", args.x.device().index, args.x.numel(), Activate<A, T>{static_cast<T>(args.slope)},
          args.y.mutable_data<S>(), args.x.data<S>());
    });
  });
}

void activate_backward(const ActivateBackwardArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class S>() {
    using T = Accumulator<S>;
    dispatch_activation(args.activation, [&]<Activation A>() {
      map("activate_backward", args.x.device().index, args.x.numel(),
          ActivateBackward<A, T>{static_cast<T>(args.slope)}, args.dx.mutable_data<S>(), args.x.data<S>(),
          args.dy.data<S>());
    });
  });
}

void relu(const ReluArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* x = args.x.data<T>();
    T* y = args.y.mutable_data<T>();
    dispatch_pack(x, y, [&]<int N>() {
      for_each("relu", args.x.device().index, args.positive.numel(),
               Relu<T, N>{x, y, args.positive.mutable_data<uint8_t>(), args.x.numel()});
    });
  });
}

void relu_backward(const ReluBackwardArgs& args) {
  dispatch_features(args.dy.dtype(), [&]<class T>() {
    const T* dy = args.dy.data<T>();
    T* dx = args.dx.mutable_data<T>();
    dispatch_pack(dy, dx, [&]<int N>() {
      for_each("relu_backward", args.dy.device().index, args.positive.numel(),
               ReluBackward<T, N>{dy, dx, args.positive.data<uint8_t>(), args.dy.numel()});
    });
  });
}

}  // namespace adj::kernels::cuda
