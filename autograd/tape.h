#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/allocator.h>

#include <string>
#include <tuple>
#include <vector>

// What the author of a differentiable op needs. An op is one function: it computes its value, then records,
// beside it, how dL/d(value) becomes dL/d(inputs):
//
//   Var relu(const Var& x) {
//     const OpScope scope("relu", x);
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

namespace detail {
class FusedGradients;
}

/// Where a backward function puts the gradients of its op's inputs, numbered as they were recorded.
class Gradients {
 public:
  explicit Gradients(std::vector<std::shared_ptr<detail::GradientSlot>>& inputs, bool through_relu = false)
      : inputs_(inputs), through_relu_(through_relu) {}
  /// False where nobody asks for this input's gradient: do not compute it.
  bool wanted(size_t input) const;
  /// Adds to the input's gradient; takes the tensor as it is when it is the first contribution.
  void add(size_t input, Tensor gradient) { add(input, std::move(gradient), false); }

 private:
  friend class detail::FusedGradients;
  void add(size_t input, Tensor gradient, bool through_relu);

  std::vector<std::shared_ptr<detail::GradientSlot>>& inputs_;
  bool through_relu_;
};

/// `dy` is the op's own: it may be overwritten if reuse() says that nobody shares it.
using Backward = std::function<void(Tensor dy, Gradients& out)>;

/// A variable with this value; on the tape if gradients are recorded and any of `inputs` requires one. `name`
/// must outlive the tape (a literal). Absent inputs are allowed.
Var record(const char* name, Tensor value, std::initializer_list<Var> inputs, Backward backward);
Var record(const char* name, Tensor value, const std::vector<Var>& inputs, Backward backward);

namespace detail {

/// What a message says of an op's input: a variable or tensor, several of them, a matrix, features, or a
/// relation.
template <class T>
std::string input_text(const T& input) {
  if constexpr (requires { input.shape(); }) {
    return input ? input.shape().str() : "absent";
  } else if constexpr (requires { input.size(); }) {
    std::string text;
    for (const auto& one : input) text += (text.empty() ? "" : ", ") + input_text(one);
    return text;
  } else if constexpr (requires { input.rows(); }) {
    return input ? fmt::format("[{}, {}]", input.rows(), input.cols()) : "absent";
  } else {
    return input ? fmt::format("{} edges", input.num_edges()) : "absent";
  }
}

}  // namespace detail

/// Stands first in an op: what a kernel refuses while it lives, and what runs out of memory, says which op it
/// was, the latter also with which inputs. They must outlive it.
template <class... Inputs>
class OpScope {
 public:
  explicit OpScope(const char* name, const Inputs&... inputs)
      : inputs_(&inputs...), scope_(name, shapes, &inputs_) {}

 private:
  using Pointers = std::tuple<const Inputs*...>;
  static std::string shapes(const void* inputs) {
    std::string text;
    std::apply(
        [&](const Inputs*... input) {
          ((text += (text.empty() ? "" : ", ") + detail::input_text(*input)), ...);
        },
        *static_cast<const Pointers*>(inputs));
    return text;
  }

  Pointers inputs_;
  AllocationScope scope_;
};

/// True if an op over these inputs will be recorded: otherwise nothing need be computed for the backward
/// pass.
bool recording(std::initializer_list<Var> inputs);

/// A tensor shaped like `dy` to write a gradient into: `dy` itself where its storage is not shared, else a
/// new one. Kernels that allow their output to be their input make the first the cheap case.
Tensor reuse(const Tensor& dy);

/// The inputs' common check: on one device, of one dtype; throws naming `op`.
void check_same_device(const char* op, std::initializer_list<Var> inputs);

}  // namespace adj
