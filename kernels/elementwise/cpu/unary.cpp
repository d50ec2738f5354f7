#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/cpu/vector_math.h>
#include <adjoint/kernels/elementwise/cpu/activation_functions.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj::kernels::cpu {

namespace {

template <Unary U, class W>
inline W function_of(W x, W first, W second) {
  if constexpr (U == Unary::exp) {
    return any_exp(x);
  } else if constexpr (U == Unary::log) {
    return any_log(x);
  } else if constexpr (U == Unary::sqrt) {
    return std::sqrt(x);
  } else if constexpr (U == Unary::sigmoid) {
    const W e = fast_exp(-std::abs(x));
    return (x < W{0} ? e : W{1}) / (W{1} + e);
  } else if constexpr (U == Unary::tanh) {
    return fast_tanh(x);
  } else if constexpr (U == Unary::inverse_sqrt) {
    return x <= W{0} ? W{0} : W{1} / std::sqrt(x);
  } else if constexpr (U == Unary::abs) {
    return std::abs(x);
  } else if constexpr (U == Unary::sin) {
    return std::sin(x);
  } else if constexpr (U == Unary::cos) {
    return std::cos(x);
  } else if constexpr (U == Unary::power) {
    return std::pow(x, first);
  } else if constexpr (U == Unary::clamp) {
    return x < first ? first : x > second ? second : x;
  } else {
    return W{1} / x;
  }
}

constexpr int64_t grain_of(Activation activation) {
  return activation == Activation::elu || activation == Activation::gelu ? kCostlyGrain : kGrain;
}

}  // namespace

void unary(const UnaryArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    T* out = args.y.mutable_data<T>();
    const auto first = static_cast<Accumulator<T>>(args.first),
               second = static_cast<Accumulator<T>>(args.second);
    dispatch_unary(args.function, [&]<Unary U>() {
      map(
          args.x.numel(), out, [=](int64_t i) { return function_of<U>(widen(in[i]), first, second); },
          kCostlyGrain);
    });
  });
}

void unary_backward(const UnaryBackwardArgs& args) {
  dispatch_features(args.saved.dtype(), [&]<class T>() {
    const T *saved = args.saved.data<T>(), *grad = args.dy.data<T>();
    T* out = args.dx.mutable_data<T>();
    dispatch_unary(args.function, [&]<Unary U>() {
      const UnarySlope<U> slope{args.first, args.second};
      map(args.saved.numel(), out, [=](int64_t i) { return widen(grad[i]) * slope(widen(saved[i])); });
    });
  });
}

void affine(const AffineArgs& args) {
  dispatch_features(args.x.dtype(), [&]<class T>() {
    const T* in = args.x.data<T>();
    const auto scale = static_cast<Accumulator<T>>(args.scale),
               shift = static_cast<Accumulator<T>>(args.shift);
    map(args.x.numel(), args.y.mutable_data<T>(), [=](int64_t i) { return scale * widen(in[i]) + shift; });
  });
}

void activate(const ActivateArgs& args) {
  const Activation activation = args.activation;
  const float slope = args.slope;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    dispatch_activation(activation, [&]<Activation A>() {
      const S* in = args.x.data<S>();
      const Accumulator<S> s = slope;
      map(
          args.x.numel(), args.y.mutable_data<S>(), [=](int64_t i) { return activated<A>(widen(in[i]), s); },
          grain_of(A));
    });
  });
}

void activate_backward(const ActivateBackwardArgs& args) {
  const Activation activation = args.activation;
  const float slope = args.slope;
  dispatch_features(args.x.dtype(), [&]<class S>() {
    dispatch_activation(activation, [&]<Activation A>() {
      const S* in = args.x.data<S>();
      const S* grad = args.dy.data<S>();
      const Accumulator<S> s = slope;
      map(
          args.x.numel(), args.dx.mutable_data<S>(),
          [=](int64_t i) { return widen(grad[i]) * activation_slope<A>(widen(in[i]), s); }, grain_of(A));
    });
  });
}

void relu(const ReluArgs& args) {
  const int64_t n = args.x.numel();
  dispatch_features(args.x.dtype(), [&]<class S>() {
    const S* in = args.x.data<S>();
    S* out = args.y.mutable_data<S>();
    uint8_t* positive = args.positive.mutable_data<uint8_t>();
    for_each_index(args.positive.numel(), kGrain / 8, [=](int64_t byte) {
      unsigned bits = 0;
      const int64_t first = 8 * byte, count = std::min<int64_t>(8, n - first);
      for (int64_t k = 0; k < count; ++k) {
        const Accumulator<S> value = widen(in[first + k]);
        bits |= static_cast<unsigned>(value > 0) << k;
        out[first + k] = narrow<S>(activated<Activation::relu>(value, Accumulator<S>{0}));
      }
      positive[byte] = static_cast<uint8_t>(bits);
    });
  });
}

void relu_backward(const ReluBackwardArgs& args) {
  const int64_t n = args.dy.numel();
  dispatch_features(args.dy.dtype(), [&]<class S>() {
    const S* grad = args.dy.data<S>();
    S* out = args.dx.mutable_data<S>();
    const uint8_t* positive = args.positive.data<uint8_t>();
    for_each_index(args.positive.numel(), kGrain / 8, [=](int64_t byte) {
      const int64_t first = 8 * byte, count = std::min<int64_t>(8, n - first);
      for (int64_t k = 0; k < count; ++k)
        out[first + k] =
            narrow<S>(widen(grad[first + k]) * static_cast<Accumulator<S>>(positive[byte] >> k & 1));
    });
  });
}

}  // namespace adj::kernels::cpu
