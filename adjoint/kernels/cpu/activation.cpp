#include <adjoint/kernels/activation.h>
#include <adjoint/kernels/cpu/activation_functions.h>
#include <adjoint/kernels/cpu/loops.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t grain_of(Activation activation) {
  return activation == Activation::elu || activation == Activation::gelu ? kCostlyGrain : kGrain;
}

}  // namespace

void activate(Activation activation, float slope, const Tensor& x, Tensor& y) {
  dispatch_float(x.dtype(), "activate", [&]<class T>() {
    dispatch_activation(activation, [&]<Activation A>() {
      const T* in = x.data<T>();
      const T s = static_cast<T>(slope);
      map(
          x.numel(), y.mutable_data<T>(), [=](int64_t i) { return activated<A>(in[i], s); }, grain_of(A));
    });
  });
}

void activate_backward(Activation activation, float slope, const Tensor& x, const Tensor& dy, Tensor& dx) {
  dispatch_float(x.dtype(), "activate_backward", [&]<class T>() {
    dispatch_activation(activation, [&]<Activation A>() {
      const T* in = x.data<T>();
      const T* grad = dy.data<T>();
      const T s = static_cast<T>(slope);
      map(
          x.numel(), dx.mutable_data<T>(), [=](int64_t i) { return grad[i] * activation_slope<A>(in[i], s); },
          grain_of(A));
    });
  });
}

}  // namespace adj::kernels::cpu
