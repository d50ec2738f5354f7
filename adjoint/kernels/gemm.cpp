#include <adjoint/core/dispatch.h>
#include <adjoint/kernels/check.h>
#include <adjoint/kernels/gemm.h>

#include <atomic>

namespace adj {

namespace {

std::atomic<MatmulPrecision> current_precision{MatmulPrecision::exact};

}  // namespace

void set_matmul_precision(MatmulPrecision precision) { current_precision = precision; }
MatmulPrecision matmul_precision() { return current_precision; }

namespace kernels {

void gemm(const Tensor& a, Transpose trans_a, const Tensor& b, Transpose trans_b, const Tensor& bias,
          Activation activation, float beta, Tensor& c) {
  check_matrix("gemm", "a", a);
  check_matrix("gemm", "b", b);
  const bool turned_a = trans_a == Transpose::yes, turned_b = trans_b == Transpose::yes;
  const int64_t m = a.size(turned_a ? 1 : 0), k = a.size(turned_a ? 0 : 1), n = b.size(turned_b ? 0 : 1);
  ADJ_CHECK(k == b.size(turned_b ? 1 : 0), "gemm: a{} is {}, b{} is {}: inner extents differ",
            turned_a ? " (transposed)" : "", a.str(), turned_b ? " (transposed)" : "", b.str());
  check_tensor("gemm", "b", b, b.shape(), a.dtype(), a.device());
  if (bias) check_tensor("gemm", "bias", bias, {n}, a.dtype(), a.device());
  check_tensor("gemm", "c", c, {m, n}, a.dtype(), a.device());
  ADJ_CHECK(beta == 0.0f || beta == 1.0f, "gemm: expected beta 0 or 1, got {}", beta);
  ADJ_CHECK(beta == 0.0f || (!bias && activation == Activation::none),
            "gemm: with beta 1 neither bias nor activation is taken");
  ADJ_CHECK(!c.shares_storage_with(a) && !c.shares_storage_with(b),
            "gemm: c cannot share storage with a or b");
  ADJ_DISPATCH(a.device(), gemm, a, trans_a, b, trans_b, bias, activation, beta, c);
}

}  // namespace kernels
}  // namespace adj
