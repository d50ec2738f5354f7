#include <adjoint/autograd/custom_op.h>
#include <adjoint/autograd/tape.h>

#include <functional>
#include <vector>

namespace adj {

Var custom_op(const char* name, const std::vector<Var>& inputs, const CustomForward& forward,
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
          // A gradient may be modified later, a value may not.
          bool is_value = gradient.shares_storage_with(pass.output);
          for (const Tensor& value : tensors) is_value = is_value || gradient.shares_storage_with(value);
          out.add(i, is_value ? gradient.clone() : gradient);
        }
      });
}

}  // namespace adj
