#pragma once

#include <adjoint/kernels/dispatch_value.h>
#include <adjoint/kernels/kernel.h>

namespace adj {

/// Comparisons of two numbers (kernels::CompareArgs).
enum class Comparison : uint8_t { less, less_equal, equal, not_equal };

namespace kernels {

/// Whether a and b compare so, with NaN as IEEE has it, on either device.
template <Comparison C>
struct ComparisonFunction {
  /// W: float or double.
  template <class W>
  ADJ_HOST_DEVICE uint8_t operator()(W a, W b) const {
    if constexpr (C == Comparison::less) return a < b;
    if constexpr (C == Comparison::less_equal) return a <= b;
    if constexpr (C == Comparison::equal) return a == b;
    return a != b;
  }
};

/// y = 1 where a and b compare so, else 0, uint8; equal shapes.
struct CompareArgs {
  Comparison comparison;  ///< of each pair
  const Tensor& a;
  const Tensor& b;
  Tensor& y;

  void check(std::string_view op) const {
    check_float(op, "a", a);
    check_like(op, "b", b, a);
    check_tensor(op, "y", y, a.shape(), DType::u8, a.device());
  }
};
ADJ_KERNEL(compare, CompareArgs)  ///< Element-wise comparison.

/// y = a where `condition` (uint8) is not 0, else b; equal shapes. An absent operand is zeros. `y` may be an
/// operand.
struct ChooseArgs {
  const Tensor& condition;
  const Tensor& a = kAbsent;
  const Tensor& b = kAbsent;
  Tensor& y;

  Device device() const { return condition.device(); }  ///< of all arguments
  void check(std::string_view op) const {
    check_float(op, "y", y);
    check_tensor(op, "condition", condition, y.shape(), DType::u8, y.device());
    if (a) check_like(op, "a", a, y);
    if (b) check_like(op, "b", b, y);
  }
};
ADJ_KERNEL(choose, ChooseArgs)  ///< Element-wise choice between two tensors.

/// Calls `f.template operator()<C>()` with C = `comparison`.
template <class F>
void dispatch_comparison(Comparison comparison, F&& f) {
  using enum Comparison;
  dispatch_value<less, less_equal, equal, not_equal>(comparison, f);
}

}  // namespace kernels
}  // namespace adj
