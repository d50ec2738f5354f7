#pragma once

#include <adjoint/core/tensor.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace adj {

namespace detail {
struct Node;
struct GradientSlot;
struct GradientHooks;
struct VarImpl;
}  // namespace detail

/// Keeps a function of Var::on_gradient() in force; it goes with this object. Moves, and does not copy.
class GradientHook {
 public:
  GradientHook() = default;
  GradientHook(GradientHook&& other) noexcept { swap(other); }
  GradientHook& operator=(GradientHook&& other) noexcept {
    GradientHook(std::move(other)).swap(*this);
    return *this;
  }
  ~GradientHook() { remove(); }
  explicit operator bool() const { return hooks_ != nullptr; }
  void remove() noexcept;

 private:
  friend class Var;
  void swap(GradientHook& other) noexcept {
    std::swap(hooks_, other.hooks_);
    std::swap(number_, other.number_);
  }
  std::shared_ptr<detail::GradientHooks> hooks_;
  uint64_t number_ = 0;
};

/// A value on the tape: a tensor, its gradient once backward() has run, and how it was computed. A cheap
/// handle. Ops on variables record themselves while any input requires a gradient and no NoGrad is in force.
class Var {
 public:
  Var() = default;
  /// A constant: no gradient is kept for it.
  Var(Tensor value);
  /// A leaf that collects a gradient.
  static Var parameter(Tensor value);

  explicit operator bool() const { return impl_ != nullptr; }
  /// Equal for handles of one variable.
  const void* id() const { return impl_.get(); }
  const Tensor& value() const;
  /// Likewise, and an absent tensor behind a default-constructed variable: what kernels take for an optional
  /// one.
  Tensor value_or_absent() const { return impl_ ? value() : Tensor(); }
  Shape shape() const;
  int64_t size(int dim) const { return shape()[dim]; }
  DType dtype() const;
  Device device() const;
  bool requires_grad() const;
  /// The single element, on the host.
  double item() const { return value().item(); }

  /// The collected gradient of a leaf; absent before backward() and after zero_grad().
  const Tensor& grad() const;
  /// Replaces the collected gradient (gradient clipping); of the value's shape.
  void set_grad(Tensor grad);
  void zero_grad();
  /// The collected gradient, to be changed in place (clipping): no other variable's, for which it is copied
  /// where ops gave two variables one tensor.
  Tensor mutable_grad();
  /// From now on this leaf's gradient collects in `place`, of the value's shape, dtype and device: a view of
  /// a bucket. It is overwritten by the first contribution after zero_grad(), so nothing need be cleared, and
  /// added to by the others. An absent tensor ends that; throws for a second place while there is one.
  void collect_grad_in(Tensor place);
  /// Calls `f` with this leaf's gradient in every backward pass that contributes to it: once, as soon as the
  /// last contribution has arrived, while ops below are still to go backward. In a step that is being
  /// captured `f` is called when the step is recorded; what it queues on the device is replayed. `f` may
  /// neither run a backward pass through this leaf nor add or remove hooks.
  [[nodiscard]] GradientHook on_gradient(std::function<void(const Tensor& gradient)> f) const;
  /// Leaves only: another value (loading weights, moving to a device). Drops the gradient.
  void set_value(Tensor value);

  /// Gradients of this one-element variable by all leaves it was computed from, added to what they hold.
  /// Saved tensors are freed as the pass goes by them, so a second call throws. Throws if a tensor that the
  /// tape saved has been changed since, naming the op.
  void backward() const;
  /// Likewise, from dL/d(this) = `seed`, of this variable's shape.
  void backward(Tensor seed) const;
  /// The value as a constant.
  Var detach() const;

 private:
  friend class TapeAccess;
  std::shared_ptr<detail::VarImpl> impl_;
};

/// While alive, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool in_force();

 private:
  bool outer_;
};

}  // namespace adj
