#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/optimizer.h>

namespace adj::kernels {

namespace detail {

inline void check_sparse(std::string_view op, const UpdateSlot& slot, int states, const Tensor& rows,
                         const Tensor& learning_rate, const Tensor& step) {
  const Tensor& p = slot.parameter;
  const Device device = step.device();
  check_scalar(op, "step", step, DType::i64, device);
  check_scalar(op, "learning_rate", learning_rate, DType::f64, device);
  ADJ_CHECK(p && p.dims() == 2 && (p.dtype() == DType::f32 || p.dtype() == DType::f64),
            "{}: the parameter is {}, expected a float32 or float64 matrix", op, p.str());
  check_index(op, "rows", rows, device);
  check_tensor(op, "the gradient", slot.gradient, {rows.numel(), p.size(1)}, p.dtype(), device);
  if (states >= 1) check_like(op, "the first state", slot.first, p);
  if (states >= 2) check_like(op, "the second state", slot.second, p);
}

}  // namespace detail

/// Adam by `rule` of the rows of a table that a batch touched. `slot`: the parameter [N,D] float32 or
/// float64, its states [N,D], and a gradient [K,D] whose row k belongs to row rows[k] of the parameter;
/// `rows` int32 [K], of [0, N), or -1 for a gradient that is passed over (others are refused on a CPU and
/// passed over on a GPU). Gradients of one row are added in the order of k. Rows that are not in `rows` keep
/// weights and moments ("lazy" Adam); the exponent of the bias corrections is that of all steps.
/// `learning_rate` float64 [1] and `step` int64 [1] as in SgdUpdateArgs. No size depends on the contents, so
/// a captured step may hold it.
struct SparseAdamUpdateArgs {
  UpdateSlot& slot;             ///< parameter, gradient and states
  const Tensor& rows;           ///< of the gradient
  AdamRule rule;                ///< options of the optimizer
  const Tensor& learning_rate;  ///< of this step
  Tensor& step;                 ///< incremented
  bool distinct = false;        ///< no row is there twice, but -1: nothing is sorted

  Device device() const { return step.device(); }  ///< where the kernel runs
  void check(std::string_view op) const { detail::check_sparse(op, slot, 2, rows, learning_rate, step); }
};
ADJ_KERNEL(sparse_adam_update, SparseAdamUpdateArgs)  ///< One step of Adam for some rows.

/// The same with Adagrad, whose sums of squares are the first state.
struct SparseAdagradUpdateArgs {
  UpdateSlot& slot;             ///< parameter, gradient and states
  const Tensor& rows;           ///< of the gradient
  AdagradRule rule;             ///< options of the optimizer
  const Tensor& learning_rate;  ///< of this step
  Tensor& step;                 ///< incremented
  bool distinct = false;        ///< no row is there twice, but -1: nothing is sorted

  Device device() const { return step.device(); }  ///< where the kernel runs
  void check(std::string_view op) const { detail::check_sparse(op, slot, 1, rows, learning_rate, step); }
};
ADJ_KERNEL(sparse_adagrad_update, SparseAdagradUpdateArgs)  ///< One step of Adagrad for some rows.

}  // namespace adj::kernels
