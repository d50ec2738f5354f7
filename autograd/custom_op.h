#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <vector>

// A differentiable op of one's own, outside the library:
//
//   Var square(const Var& x) {
//     return custom_op(
//         "square", {x}, [](const std::vector<Tensor>& in) { return (Var(in[0]) * Var(in[0])).value(); },
//         [](const CustomPass& pass) -> std::vector<Tensor> {
//           return {(2.0 * Var(pass.inputs[0]) * Var(pass.dy)).value()};
//         });
//   }
//
// Both functions compute as they like: by the library's ops, as here (nothing is recorded within), by its
// kernels, or by loops over Tensor::data(). gradient_check.h holds such a gradient against differences.

namespace adj {

/// What the backward function of a custom op is given. To read, not to write.
struct CustomPass {
  const Tensor& dy;                   ///< dL/d(output)
  const std::vector<Tensor>& inputs;  ///< as the forward function saw them
  const Tensor& output;
  std::vector<bool> wanted;  ///< by input: false where nobody asks for its gradient
};

using CustomForward = std::function<Tensor(const std::vector<Tensor>& inputs)>;
/// The gradient of each input, in order, of the input's shape and dtype; an absent Tensor where it is not
/// wanted. One that is returned unasked is dropped: `wanted` saves work, nothing else.
using CustomBackward = std::function<std::vector<Tensor>(const CustomPass& pass)>;

/// A variable with the value of `forward`; `backward` is called once, if any input wants a gradient. `name`
/// must outlive the tape (a literal). Inputs that take no gradient, an index say, are given as Var(tensor).
/// Inputs and output are saved: writing to one of them before the backward pass is an error, as for every op.
/// Throws, naming the op and the input, where a gradient is missing or does not fit its input.
Var custom_op(const char* name, const std::vector<Var>& inputs, const CustomForward& forward,
              CustomBackward backward);

}  // namespace adj
