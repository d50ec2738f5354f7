#include <adjoint/kernels/cuda/activation_functions.h>
#include <adjoint/kernels/cuda/map.h>

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

void activate(Activation activation, float slope, const Tensor& x, Tensor& y) {
  dispatch_float(x.dtype(), "activate", [&]<class T>() {
    dispatch_activation(activation, [&]<Activation A>() {
      map("activate", x.device().index, x.numel(), Activate<A, T>{static_cast<T>(slope)}, y.mutable_data<T>(),
          x.data<T>());
    });
  });
}

void activate_backward(Activation activation, float slope, const Tensor& x, const Tensor& dy, Tensor& dx) {
  dispatch_float(x.dtype(), "activate_backward", [&]<class T>() {
    dispatch_activation(activation, [&]<Activation A>() {
      map("activate_backward", x.device().index, x.numel(), ActivateBackward<A, T>{static_cast<T>(slope)},
          dx.mutable_data<T>(), x.data<T>(), dy.data<T>());
    });
  });
}

}  // namespace adj::kernels::cuda
