#pragma once

#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/elementwise/unary.h>

namespace adj {

namespace kernels {

/// op of an operand of gemm().
enum class Transpose : bool { no, yes };

/// `c` [M,N] = act(op(a) op(b) + bias), or c += op(a) op(b) with `accumulate`, without bias and act. If
/// `through_relu` [M,N] is given, c is multiplied by 1 where it is positive and by 0 elsewhere (the backward
/// pass of a relu fused into the product); without act. Row-major, op = optional transpose (`trans_a`,
/// `trans_b`) of `a` and `b`; `bias` [N] optional; act the `activation` none or relu. float32 by oneDNN if
/// available, else own code; float64 by that; bfloat16 as the float32 product of the widened operands,
/// rounded once after bias and act. On a GPU cuBLASLt, with bfloat16 on its tensor cores, or the method of
/// ExactProducts; small exact products have their own kernel. M, N or K may be 0 (K = 0 gives act(bias)).
struct GemmArgs {
  const Tensor& a;
  Transpose trans_a = Transpose::no;
  const Tensor& b;
  Transpose trans_b = Transpose::no;
  const Tensor& bias = kAbsent;
  Activation activation = Activation::none;
  bool accumulate = false;
  const Tensor& through_relu = kAbsent;
  Tensor& c;

  void check(std::string_view op) const {
    check_matrix(op, {{"a", a}, {"b", b}});
    const bool turned_a = trans_a == Transpose::yes, turned_b = trans_b == Transpose::yes;
    const int64_t m = a.size(turned_a ? 1 : 0), k = a.size(turned_a ? 0 : 1), n = b.size(turned_b ? 0 : 1);
    ADJ_CHECK(k == b.size(turned_b ? 1 : 0), "{}: a{} is {}, b{} is {}: inner extents differ", op,
              turned_a ? " (transposed)" : "", a.str(), turned_b ? " (transposed)" : "", b.str());
    check_tensor(op, "b", b, b.shape(), a.dtype(), a.device());
    if (bias) check_tensor(op, "bias", bias, {n}, a.dtype(), a.device());
    check_tensor(op, "c", c, {m, n}, a.dtype(), a.device());
    check_fused(op, activation);
    ADJ_CHECK(!accumulate || (!bias && activation == Activation::none),
              "{}: an accumulated product has neither a bias nor an activation", op);
    if (through_relu) {
      check_tensor(op, "through_relu", through_relu, {m, n}, a.dtype(), a.device());
      ADJ_CHECK(activation == Activation::none && !c.shares_storage_with(through_relu),
                "{}: a gradient through relu has no activation, and c is not a relu's output", op);
    }
    ADJ_CHECK(!c.shares_storage_with(a) && !c.shares_storage_with(b),
              "{}: c cannot share storage with a or b", op);
  }
};
ADJ_KERNEL(gemm, GemmArgs)  ///< Dense product.

/// Gradients of y = x w + bias for dz [N,out], the gradient of y: dw [in,out] = xᵀ dz and dbias [out] = Σ_i
/// dz[i, :], which may be absent. x [N,in]. One pass over dz for split products.
struct WeightGradientsArgs {
  const Tensor& x;
  const Tensor& dz;
  Tensor& dw;
  Tensor& dbias;

  void check(std::string_view op) const {
    check_matrix(op, {{"x", x}, {"dz", dz}});
    check_tensor(op, "dz", dz, {x.size(0), dz.size(1)}, x.dtype(), x.device());
    check_tensor(op, "dw", dw, {x.size(1), dz.size(1)}, x.dtype(), x.device());
    if (dbias) check_tensor(op, "dbias", dbias, {dz.size(1)}, x.dtype(), x.device());
    ADJ_CHECK(!dw.shares_storage_with(x) && !dw.shares_storage_with(dz),
              "{}: dw cannot share storage with x or dz", op);
  }
};
ADJ_KERNEL(weight_gradients, WeightGradientsArgs)  ///< Gradients of a linear layer's weight and bias.

}  // namespace kernels
}  // namespace adj
