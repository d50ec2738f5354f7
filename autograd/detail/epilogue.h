#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::detail {

// Shared by ops with a fused bias and relu.

/// Says of a variable, just recorded, that a relu gave it, through which the op's backward function takes dy
/// unless FusedGradients::through_relu() says that it went there. So a product whose gradient of its input
/// goes through the input's relu as it is written saves a pass over both.
Var from_relu(Var recorded);

/// What a backward function that adds in place, or goes through a relu, requires of Gradients.
class FusedGradients {
 public:
  explicit FusedGradients(std::vector<std::shared_ptr<GradientSlot>>& inputs, bool through_relu = false)
      : inputs_(inputs), through_relu_(through_relu) {}
  static FusedGradients& of(const Gradients& out) { return out.inputs_; }
  Gradients gradients() { return Gradients(*this); }
  /// Did all of dy go through the relu of the op at hand already?
  static bool through_relu(const Gradients& out) { return of(out).through_relu_; }
  /// Did a relu give the input (from_relu)? Then its gradient may go through it as it is made.
  bool from_relu(size_t input) const;
  bool wanted(size_t input) const;
  /// The input's gradient so far, where it can be added to in place: an op that asks for it adds all of its
  /// contribution to it and calls add no more. Nothing where there is none yet, or others hold it.
  /// `through_relu`: the op then takes the whole sum through the input's relu.
  Tensor begun(size_t input, bool through_relu);
  /// `through_relu`: the gradient is 0 where the input, which a relu gave, is not positive.
  void add(size_t input, Tensor gradient, bool through_relu);

 private:
  std::vector<std::shared_ptr<GradientSlot>>& inputs_;
  bool through_relu_;
};

/// y, just recorded by an op that applied `activation` to it.
inline Var after(Activation activation, Var y) {
  return activation == Activation::relu ? from_relu(std::move(y)) : y;
}
/// The gradient at z for y = act(z): through relu if its output `y` was saved.
inline Tensor through_activation(const Saved& y, Tensor dy, const Gradients& out) {
  if (!y || FusedGradients::through_relu(out)) return dy;
  Tensor dz = reuse(dy);
  kernels::activate_backward({.activation = Activation::relu, .x = y.get(), .dy = dy, .dx = dz});
  return dz;
}
/// The gradient of a bias [F], input `bias` of the op, from dz [N,F].
inline void bias_gradient(const Tensor& dz, size_t bias, Gradients& out) {
  if (!out.wanted(bias)) return;
  Tensor dbias = Tensor::empty({dz.size(1)}, dz.dtype(), dz.device());
  kernels::sum_rows({.x = dz, .y = dbias});
  out.add(bias, dbias);
}

}  // namespace adj::detail
