#pragma once

#include <adjoint/core/tensor.h>

/// Declares a kernel once for its three places: `name` checks the contract and goes to the device of its
/// arguments (kernels/<family>.cpp); `cpu::name` and `cuda::name` implement it (kernels/cpu/, kernels/cuda/,
/// same file name) and may rely on what was checked.
#define ADJ_KERNEL(result, name, ...) \
  result name(__VA_ARGS__);           \
  namespace cpu {                     \
  result name(__VA_ARGS__);           \
  }                                   \
  namespace cuda {                    \
  result name(__VA_ARGS__);           \
  }

// Contracts share these rules. Arguments live on one device. Outputs are allocated by the caller, with the
// shape and dtype that the contract names, and are wholly overwritten unless it says otherwise. Floating
// types are float32 or float64 (for gradient checks), the same for all floating arguments, unless a contract
// adds bfloat16. A default-constructed Tensor stands for "absent" where an argument is optional. Violations
// throw adj::Error.
