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

}  // namespace adj::kernels::cpu
