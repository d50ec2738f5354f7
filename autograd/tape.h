#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/core/allocator.h>

#include <string>
#include <tuple>
#include <vector>

// API for writing differentiable ops. An op is one function: it computes its value, then records how
// dL/d(value) becomes dL/d(inputs):
//
//   Var relu(const Var& x) {
//     const OpScope scope("relu", x);
//     Tensor y = Tensor::empty_like(x.value());
//     kernels::activate({.activation = Activation::relu, .slope = 0.0f, .x = x.value(), .y = y});
//     return record("relu", y, {x}, [x = Saved(x.value())](Tensor dy, Gradients& out) {
//       Tensor dx = reuse(dy);
//       kernels::activate_backward({.activation = Activation::relu, .slope = 0.0f, .x = x.get(), .dy = dy,
//                                   .dx = dx});
//       out.add(dx);
//     });
//   }

namespace adj {

/// A tensor saved for the backward pass, with its version.
class Saved {
 public:
  Saved() = default;
  explicit Saved(Tensor tensor) : tensor_(std::move(tensor)), version_(tensor_.version()) {}
  /// Throws if the tensor was modified since it was saved.
  const Tensor& get() const;
  explicit operator bool() const { return static_cast<bool>(tensor_); }  ///< false for an absent tensor

 private:
  Tensor tensor_;
  uint64_t version_ = 0;
};

namespace detail {
class FusedGradients;
}

/// Receives the gradients of an op's inputs from its backward function; inputs are numbered as recorded.
class Gradients {
 public:
  /// False if this input's gradient is not needed: do not compute it.
  bool wanted(size_t input) const;
  /// Adds to the input's gradient; the first contribution is stored without a copy.
  void add(size_t input, Tensor gradient);
  /// The same for an op of one input.
  void add(Tensor gradient);

 private:
  friend class detail::FusedGradients;
  explicit Gradients(detail::FusedGradients& inputs) : inputs_(inputs) {}

  detail::FusedGradients& inputs_;
};

/// The op owns `dy`: it may be overwritten if reuse() finds it unshared.
using Backward = std::function<void(Tensor dy, Gradients& out)>;

/// A variable with this value; on the tape if gradients are enabled and any of `inputs` requires one. `name`
/// must outlive the tape (a literal). Inputs may be absent.
Var record(const char* name, Tensor value, std::initializer_list<Var> inputs, Backward backward);
Var record(const char* name, Tensor value, const std::vector<Var>& inputs, Backward backward);

namespace detail {

/// Describes an op's input in messages: a variable or tensor, several of them, a matrix, features, or a
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

/// First statement of an op: names the op in kernel errors and out-of-memory messages, in the latter also the
/// inputs. The inputs must outlive it.
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

/// True if an op over these inputs will be recorded; otherwise skip work for the backward pass.
bool recording(std::initializer_list<Var> inputs);

/// A tensor shaped like `dy` for the gradient: `dy` itself if its storage is unshared, else a new one.
/// Kernels that work in-place make the first case cheap.
Tensor reuse(const Tensor& dy);

/// Throws, naming `op`, unless all inputs have one device and one dtype.
void check_same_device(const char* op, std::initializer_list<Var> inputs);

}  // namespace adj
