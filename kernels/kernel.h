#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/kernels/check.h>

// A kernel is described once, by a struct of its arguments: named fields, on which device they are, and the
// check of the contract.
//
//   /// y = act(x), any shape. `y` may be `x`.
//   struct ActivateArgs {
//     Activation activation;
//     float slope = kLeakySlope;
//     const Tensor& x;
//     Tensor& y;
//
//     Device device() const { return x.device(); }
//     void check() const { check_float("activate", "x", x); ... }
//   };
//   ADJ_KERNEL(activate, ActivateArgs)
//
// which is called as kernels::activate({.activation = Activation::relu, .x = x, .y = y}). The call checks and
// goes to the device; it is defined by the same line (kernels/detail/dispatch.h). `cpu::activate` and
// `cuda::activate` implement it (kernels/FAMILY/cpu/, kernels/FAMILY/cuda/) and may rely on what was checked.
//
// Kernels that share a contract share the struct; its check(std::string_view op) is told which of them is
// called.
//
// Contracts share these rules. Arguments live on one device. Outputs are allocated by the caller, with the
// shape and dtype that the contract names, and are wholly overwritten unless it says otherwise. An argument
// that has a default may be left out. Violations throw adj::Error.
//
// Floating types are float32, bfloat16 or float64 (for gradient checks), one for all floating arguments:
// features, parameters and their gradients. bfloat16 is storage: it is read into float32, computed and summed
// there, and rounded once where it is written. What a contract calls `wide` is float32 beside bfloat16 and
// else of the common type: statistics of a normalisation and what it saves of them, losses and sums of all
// elements with their gradients, targets of regression, and the values of a sparse matrix with theirs. The
// optimizers' updates are on their own (update/).

#define ADJ_DECLARE_KERNEL(name, Args) \
  void name(const Args& args);         \
  namespace cpu {                      \
  void name(const Args& args);         \
  }                                    \
  namespace cuda {                     \
  void name(const Args& args);         \
  }

#ifndef ADJ_KERNEL  // kernels/detail/dispatch.h has its own
#define ADJ_KERNEL(name, Args) ADJ_DECLARE_KERNEL(name, Args)
#endif

namespace adj::kernels {

/// What stands for an optional tensor that was left out.
extern const Tensor kAbsent;

}  // namespace adj::kernels
