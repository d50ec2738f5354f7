#pragma once

#include <adjoint/autograd/tape.h>
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
inline Var custom_op(const char* name, const std::vector<Var>& inputs, const CustomForward& forward,
                     CustomBackward backward) {
  const OpScope scope(name, inputs);
  std::vector<Tensor> values;
  std::vector<Saved> saved;
  for (const Var& input : inputs) {
    values.push_back(input.value());
    saved.emplace_back(input.value());
  }
  Tensor y;
  {
    const NoGrad nothing_is_recorded;
    y = forward(values);
  }
  ADJ_CHECK(static_cast<bool>(y), "{}: forward returned no tensor", name);
  return record(
      name, y, inputs,
      [name, saved, y = Saved(y), backward = std::move(backward)](Tensor dy, Gradients& out) {
        std::vector<Tensor> tensors;
        CustomPass pass{dy, tensors, y.get(), {}};
        for (size_t i = 0; i < saved.size(); ++i) {
          tensors.push_back(saved[i].get());
          pass.wanted.push_back(out.wanted(i));
        }
        const std::vector<Tensor> gradients = backward(pass);
        ADJ_CHECK(gradients.size() == tensors.size(), "{}: backward returned {} gradients for {} inputs",
                  name, gradients.size(), tensors.size());
        for (size_t i = 0; i < gradients.size(); ++i) {
          if (!pass.wanted[i]) continue;
          const Tensor& gradient = gradients[i];
          const Tensor& input = tensors[i];
          ADJ_CHECK(static_cast<bool>(gradient), "{}: backward returned no gradient for input {}, {}", name,
                    i, input.str());
          ADJ_CHECK(gradient.shape() == input.shape() && gradient.dtype() == input.dtype() &&
                        gradient.device() == input.device(),
                    "{}: the gradient of input {} is {}, expected {}", name, i, gradient.str(), input.str());
          // A gradient may be written to later; a value may not.
          bool is_value = gradient.shares_storage_with(pass.output);
          for (const Tensor& value : tensors) is_value = is_value || gradient.shares_storage_with(value);
          out.add(i, is_value ? gradient.clone() : gradient);
        }
      });
}

}  // namespace adj
