#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/kernels/elementwise/cpu/activation_functions.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t grain_of(Activation activation) {
  return activation == Activation::elu || activation == Activation::gelu ? kCostlyGrain : kGrain;
}

}  // namespace

void activate(const ActivateArgs& args) {
  const Activation activation = args.activation;
  const float slope = args.slope;
  dispatch_float(args.x.dtype(), "activate", [&]<class T>() {
    dispatch_activation(activation, [&]<Activation A>() {
      const T* in = args.x.data<T>();
      const T s = static_cast<T>(slope);
      map(
          args.x.numel(), args.y.mutable_data<T>(), [=](int64_t i) { return activated<A>(in[i], s); },
          grain_of(A));
    });
  });
}

void activate_backward(const ActivateBackwardArgs& args) {
  const Activation activation = args.activation;
  const float slope = args.slope;
  dispatch_float(args.x.dtype(), "activate_backward", [&]<class T>() {
    dispatch_activation(activation, [&]<Activation A>() {
      const T* in = args.x.data<T>();
      const T* grad = args.dy.data<T>();
      const T s = static_cast<T>(slope);
      map(
          args.x.numel(), args.dx.mutable_data<T>(),
          [=](int64_t i) { return grad[i] * activation_slope<A>(in[i], s); }, grain_of(A));
    });
  });
}

}  // namespace adj::kernels::cpu
