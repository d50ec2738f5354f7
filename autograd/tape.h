#pragma once

#include <adjoint/autograd/variable.h>

#include <vector>

// What the author of a differentiable op needs. An op is one function: it computes its value, then records,
// beside it, how dL/d(value) becomes dL/d(inputs):
//
//   Var relu(const Var& x) {
//     Tensor y = Tensor::empty_like(x.value());
//     kernels::activate({.activation = Activation::relu, .slope = 0.0f, .x = x.value(), .y = y});
//     return record("relu", y, {x}, [x = Saved(x.value())](Tensor dy, Gradients& out) {
//       Tensor dx = reuse(dy);
//       kernels::activate_backward({.activation = Activation::relu, .slope = 0.0f, .x = x.get(), .dy = dy,
//       .dx = dx}); out.add(0, dx);
//     });
//   }

namespace adj {

/// A tensor kept for the backward pass, with the count of writes that it had seen.
class Saved {
 public:
  Saved() = default;
  explicit Saved(Tensor tensor) : tensor_(std::move(tensor)), version_(tensor_.version()) {}
  /// Throws if the tensor was written to since it was saved.
  const Tensor& get() const;
  explicit operator bool() const { return static_cast<bool>(tensor_); }

 private:
  Tensor tensor_;
  uint64_t version_ = 0;
};

/// Where a backward function puts the gradients of its op's inputs, numbered as they were recorded.
class Gradients {
 public:
  explicit Gradients(std::vector<std::shared_ptr<detail::GradientSlot>>& inputs) : inputs_(inputs) {}
  /// False where nobody asks for this input's gradient: do not compute it.
  bool wanted(size_t input) const;
  /// Adds to the input's gradient; takes the tensor as it is when it is the first contribution.
  void add(size_t input, Tensor gradient);

 private:
  std::vector<std::shared_ptr<detail::GradientSlot>>& inputs_;
};

/// `dy` is the op's own: it may be overwritten if reuse() says that nobody shares it.
using Backward = std::function<void(Tensor dy, Gradients& out)>;

/// A variable with this value; on the tape if gradients are recorded and any of `inputs` requires one. `name`
/// must outlive the tape (a literal). Absent inputs are allowed.
Var record(const char* name, Tensor value, std::initializer_list<Var> inputs, Backward backward);
Var record(const char* name, Tensor value, const std::vector<Var>& inputs, Backward backward);

/// True if an op over these inputs will be recorded: otherwise nothing need be computed for the backward
/// pass.
bool recording(std::initializer_list<Var> inputs);

/// A tensor shaped like `dy` to write a gradient into: `dy` itself where its storage is not shared, else a
/// new one. Kernels that allow their output to be their input make the first the cheap case.
Tensor reuse(const Tensor& dy);

/// The inputs' common check: on one device, of one dtype; throws naming `op`.
void check_same_device(const char* op, std::initializer_list<Var> inputs);

}  // namespace adj
