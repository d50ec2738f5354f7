#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <vector>

// A user-defined differentiable op, outside the library:
//
//   Var square(const Var& x) {
//     return custom_op(
//         "square", {x}, [](const std::vector<Tensor>& in) { return (Var(in[0]) * Var(in[0])).value(); },
//         [](const CustomPass& pass) -> std::vector<Tensor> {
//           return {(2.0 * Var(pass.inputs[0]) * Var(pass.dy)).value()};
//         });
//   }
//
// Both functions may use the library's ops, as here (nothing is recorded within), its kernels, or loops over
// Tensor::data(). gradient_check.h checks such gradients against finite differences.

namespace adj {

/// Read-only arguments of a custom op's backward function.
struct CustomPass {
  const Tensor& dy;                   ///< dL/d(output)
  const std::vector<Tensor>& inputs;  ///< as passed to the forward function
  const Tensor& output;               ///< as the forward function returned it
  std::vector<bool> wanted;           ///< per input: false if its gradient is not needed
};

/// The op's value, from those of its inputs. Must return a tensor.
using CustomForward = std::function<Tensor(const std::vector<Tensor>& inputs)>;
/// The gradient of each input, in order, with the input's shape and dtype; an absent Tensor if not wanted. An
/// unwanted gradient is ignored: `wanted` only saves work.
using CustomBackward = std::function<std::vector<Tensor>(const CustomPass& pass)>;

/// A variable with the value of `forward`; `backward` is called once, if any input needs a gradient. `name`
/// must outlive the tape (a literal). Pass inputs without a gradient, such as an index, as Var(tensor).
/// Inputs and output are saved: modifying one before the backward pass is an error, as for every op. Throws,
/// naming the op and the input, if a gradient is missing or does not match its input.
Var custom_op(const char* name, const std::vector<Var>& inputs, const CustomForward& forward,
              CustomBackward backward);

}  // namespace adj
