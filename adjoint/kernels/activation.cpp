#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/activation.h>
#include <adjoint/kernels/check.h>

namespace adj {

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::leaky_relu:
      return "leaky_relu";
    case Activation::elu:
      return "elu";
    case Activation::gelu:
      return "gelu";
  }
  return "?";
}

namespace kernels {

void activate(Activation activation, float slope, const Tensor& x, Tensor& y) {
  check_float("activate", "x", x);
  check_like("activate", "y", y, x);
  ADJ_DISPATCH(x.device(), activate, activation, slope, x, y);
}

void activate_backward(Activation activation, float slope, const Tensor& x, const Tensor& dy, Tensor& dx) {
  check_float("activate_backward", "x", x);
  check_like("activate_backward", "dy", dy, x);
  check_like("activate_backward", "dx", dx, x);
  ADJ_DISPATCH(x.device(), activate_backward, activation, slope, x, dy, dx);
}

}  // namespace kernels
}  // namespace adj
