#pragma once

#include <adjoint/kernels/kernel.h>

namespace adj::kernels {

/// sum (a scalar) = factor Σ |x|^power over the numbers of x [N,D], or over the absolute values of its
/// complex numbers: power 2 is L2, power 3 N3 (Lacroix et al. 2018).
struct PowerSumArgs {
  const Tensor& x;  ///< the numbers
  int power;        ///< 2 or 3
  bool complex;     ///< pairs, as [real | imaginary]
  double factor;    ///< of the sum
  Tensor& sum;      ///< the result

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    ADJ_CHECK(power == 2 || power == 3, "{}: power is {}, expected 2 or 3", op, power);
    ADJ_CHECK(!complex || x.size(1) % 2 == 0, "{}: x is {}, expected an even width for complex numbers", op,
              x.str());
    check_scalar(op, "sum", sum, x.dtype(), x.device());
  }
};
ADJ_KERNEL(power_sum, PowerSumArgs)  ///< Sum of powers.

/// dx = dsum factor d Σ |x|^power / dx.
struct PowerSumBackwardArgs {
  const Tensor& x;     ///< as in the forward pass
  int power;           ///< likewise
  bool complex;        ///< likewise
  double factor;       ///< likewise
  const Tensor& dsum;  ///< gradient of the sum
  Tensor& dx;          ///< the result

  void check(std::string_view op) const {
    check_matrix(op, "x", x);
    check_scalar(op, "dsum", dsum, x.dtype(), x.device());
    check_like(op, "dx", dx, x);
  }
};
ADJ_KERNEL(power_sum_backward, PowerSumBackwardArgs)  ///< Its gradient.

}  // namespace adj::kernels
