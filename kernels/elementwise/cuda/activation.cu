#include <adjoint/kernels/cuda/map.cuh>
#include <adjoint/kernels/elementwise/cuda/activation_functions.cuh>

namespace adj::kernels::cuda {

namespace {

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

}  // namespace

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

}  // namespace adj::kernels::cuda
