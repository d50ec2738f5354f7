#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/kernels/check.h>

// A kernel is described once, by a struct of its arguments: named fields, and the check of the contract,
// which receives the kernel's name. Kernels with the same contract share the struct. A kernel runs on the
// device of `x`, else `a` or `y`; a struct that has none of them has a device().
//
//   /// y = act(x), any shape. `y` may be `x`.
//   struct ActivateArgs {
//     Activation activation;
//     float slope = kLeakySlope;
//     const Tensor& x;
//     Tensor& y;
//
//     void check(std::string_view op) const { check_float(op, "x", x); ... }
//   };
//   ADJ_KERNEL(activate, ActivateArgs)
//
// Call it as kernels::activate({.activation = Activation::relu, .x = x, .y = y}). The call checks the
// arguments and dispatches to the device; the ADJ_KERNEL line also defines it (kernels/detail/dispatch.h).
// `cpu::activate` and `cuda::activate` implement it (kernels/FAMILY/cpu/, kernels/FAMILY/cuda/) and may rely
// on the checks.
//
// Rules for all contracts: Arguments live on one device. The caller allocates the outputs with the shape and
// dtype of the contract; they are fully overwritten unless stated otherwise. Arguments with a default may be
// omitted. Violations throw adj::Error.
//
// Floating types are float32, bfloat16 or float64 (for gradient checks), the same for all floating-point
// arguments: features, parameters and their gradients. bfloat16 is storage only: values are converted to
// float32, computed and accumulated there, and rounded once when written. An argument of the accumulator
// dtype is float32 when the common type is bfloat16, else of the common type: normalization statistics and
// tensors saved from them, losses and sums over all elements with their gradients, regression targets, and
// sparse-matrix values with their gradients. Optimizer updates have their own rules (update/).

/// Declares a kernel: its entry, which checks and dispatches, and its CPU and CUDA implementations.
#define ADJ_DECLARE_KERNEL(name, Args) \
  void name(const Args& args);         \
  namespace cpu {                      \
  void name(const Args& args);         \
  }                                    \
  namespace cuda {                     \
  void name(const Args& args);         \
  }

#ifndef ADJ_KERNEL  // kernels/detail/dispatch.h defines its own
#define ADJ_KERNEL(name, Args) ADJ_DECLARE_KERNEL(name, Args)
#endif

namespace adj::kernels {

/// Placeholder for an omitted optional tensor.
extern const Tensor kAbsent;

/// The elements of an optional tensor; null if it is absent.
template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor ? tensor.data<T>() : nullptr;
}
/// The same, to be written.
template <class T>
T* mutable_data_or_null(Tensor& tensor) {
  return tensor ? tensor.mutable_data<T>() : nullptr;
}

}  // namespace adj::kernels
