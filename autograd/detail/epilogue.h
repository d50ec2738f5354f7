#pragma once

#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj::detail {

// Shared by ops with a fused bias and relu.

/// Marks a variable as the output of a fused relu. The op's backward function applies the relu to dy unless
/// FusedGradients::through_relu() is true. A product can thus apply its input's relu while it writes the
/// gradient, which saves a pass over both.
Var from_relu(Var recorded);

/// Access to Gradients for backward functions that accumulate in place or apply a fused relu.
class FusedGradients {
 public:
  explicit FusedGradients(std::vector<std::shared_ptr<GradientSlot>>& inputs, bool through_relu = false)
      : inputs_(inputs), through_relu_(through_relu) {}
  static FusedGradients& access(const Gradients& out) { return out.inputs_; }
  Gradients gradients() { return Gradients(*this); }
  /// True if all of dy has already passed this op's relu.
  static bool through_relu(const Gradients& out) { return access(out).through_relu_; }
  /// True if the input is a relu's output (from_relu); its gradient may then be masked as it is computed.
  bool from_relu(size_t input) const;
  bool wanted(size_t input) const;
  /// The input of an op that has one.
  size_t only() const;
  /// The input's gradient so far, where it can be added to in place: the op adds its whole contribution to it
  /// and does not call add(). Absent if there is none yet or it is shared. `through_relu`: the op then
  /// applies the input's relu to the whole sum.
  Tensor begun(size_t input, bool through_relu);
  /// `through_relu`: the input is a relu's output, and the gradient is 0 where it is not positive.
  void add(size_t input, Tensor gradient, bool through_relu);

 private:
  std::vector<std::shared_ptr<GradientSlot>>& inputs_;
  bool through_relu_;
};

/// y, just recorded by an op that applied `activation` to it.
inline Var after(Activation activation, Var y) {
  return activation == Activation::relu ? from_relu(std::move(y)) : y;
}
/// The gradient at z for y = act(z): passes the relu if its output `y` was saved.
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
