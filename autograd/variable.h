#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace adj {

namespace detail {
struct Node;
struct GradientSlot;
struct RegisteredHook;
struct VarImpl;
}  // namespace detail

/// While it is alive, this thread calls `before` and `after` around each Var::backward().
class BackwardCalls {
 public:
  BackwardCalls(std::function<void()> before, std::function<void()> after);
  ~BackwardCalls();
  BackwardCalls(const BackwardCalls&) = delete;
  BackwardCalls& operator=(const BackwardCalls&) = delete;

 private:
  friend class Var;
  std::function<void()> before_, after_;
};

/// Keeps a Var::on_gradient() callback registered for its lifetime. Move-only.
class GradientHook {
 public:
  explicit operator bool() const { return held_ != nullptr; }  ///< true while a callback is registered
  void remove() noexcept { held_.reset(); }                    ///< unregisters it now

 private:
  friend class Var;
  std::unique_ptr<detail::RegisteredHook, void (*)(detail::RegisteredHook*)> held_{nullptr, nullptr};
};

/// A value on the tape: a tensor, its gradient after backward(), and how it was computed. A cheap handle. Ops
/// record themselves if any input requires a gradient and no NoGrad is active.
class Var {
 public:
  Var() = default;
  /// A constant, without a gradient.
  Var(Tensor value);
  /// A leaf with a gradient.
  static Var parameter(Tensor value);

  explicit operator bool() const { return impl_ != nullptr; }  ///< false if default-constructed
  /// Equal for handles of the same variable.
  const void* id() const { return impl_.get(); }
  const Tensor& value() const;
  /// The value, or an absent tensor for a default-constructed variable: for optional kernel arguments.
  Tensor value_or_absent() const { return impl_ ? value() : Tensor(); }
  Shape shape() const;  ///< of the value; these four throw Error for a default-constructed variable
  int64_t size(int dim) const { return shape()[dim]; }  ///< extent; a negative `dim` counts from the end
  DType dtype() const;                                  ///< of the value
  Device device() const;                                ///< of the value
  bool requires_grad() const;  ///< true for a parameter, and for what was recorded from one
  /// The single element, on the host.
  double item() const { return value().item(); }

  /// The accumulated gradient of a leaf; absent before backward() and after zero_grad().
  const Tensor& grad() const;
  /// Replaces the accumulated gradient (gradient clipping); must have the value's shape.
  void set_grad(Tensor grad);
  void zero_grad();  ///< drops the accumulated gradient; it is then absent, not zeros
  /// The accumulated gradient for in-place changes (clipping); copied first if it is shared with another
  /// variable.
  Tensor mutable_grad();
  /// Accumulates this leaf's gradient in `place` from now on: a view of a bucket, with the value's shape,
  /// dtype and device. The first contribution after zero_grad() overwrites it, so it needs no clearing; later
  /// ones are added. An absent tensor ends this; throws if another place is already set.
  void collect_grad_in(Tensor place);
  /// Calls `f` with this leaf's gradient in every backward pass that contributes to it: once, right after the
  /// last contribution, while earlier ops are still pending. In a captured step `f` is called at capture; the
  /// device work it queues is replayed. `f` must not run a backward pass through this leaf, nor add or remove
  /// hooks.
  [[nodiscard]] GradientHook on_gradient(std::function<void(const Tensor& gradient)> f) const;
  /// Leaves only: replaces the value (loading weights, moving to a device) and drops the gradient.
  void set_value(Tensor value);

  /// Adds the gradients of this one-element variable to all leaves it depends on. Saved tensors are freed
  /// during the pass, so a second call throws. Throws, naming the op, if a saved tensor was modified.
  void backward() const;
  /// Same, from dL/d(this) = `seed`, of this variable's shape.
  void backward(Tensor seed) const;
  /// The value as a constant.
  Var detach() const;

 private:
  friend class TapeAccess;
  std::shared_ptr<detail::VarImpl> impl_;
};

/// The value as to_text() (core/print.h) writes it, and whether it takes a gradient.
std::ostream& operator<<(std::ostream& out, const Var& x);

/// In this scope, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool in_force();  ///< true while this thread is in such a scope, as in a backward pass

 private:
  bool outer_;
};

/// In this scope, of all leaves only these take gradients on this thread: backward() computes none for the
/// parameters of a model that is read, and other threads may read it, too. An inner scope takes the place of
/// an outer one.
class GradientsOnlyOf {
 public:
  explicit GradientsOnlyOf(std::vector<Var> leaves);
  ~GradientsOnlyOf();
  GradientsOnlyOf(const GradientsOnlyOf&) = delete;
  GradientsOnlyOf& operator=(const GradientsOnlyOf&) = delete;

 private:
  friend class Var;
  std::vector<Var> leaves_;
  const GradientsOnlyOf* outer_;
};

}  // namespace adj
