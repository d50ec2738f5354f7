// GCC 12 takes the undefined registers of its own AVX-512 intrinsics for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <adjoint/kernels/cpu/matmul.h>
#include <adjoint/kernels/elementwise.h>
#include <adjoint/kernels/gemm.h>

#include <Eigen/Core>

namespace adj::kernels::cpu {

namespace {

/// C = op(A) op(B) + beta C.
template <class T>
void product(const Tensor& a, bool turned_a, const Tensor& b, bool turned_b, bool accumulate, Tensor& c) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> left(a.data<T>(), a.size(0), a.size(1));
  const Eigen::Map<const Matrix> right(b.data<T>(), b.size(0), b.size(1));
  Eigen::Map<Matrix> result(c.mutable_data<T>(), c.size(0), c.size(1));
  const auto assign = [&](const auto& value) {
    if (accumulate) {
      result.noalias() += value;
    } else {
      result.noalias() = value;
    }
  };
  if (turned_a && turned_b) {
    assign(left.transpose() * right.transpose());
  } else if (turned_a) {
    assign(left.transpose() * right);
  } else if (turned_b) {
    assign(left * right.transpose());
  } else {
    assign(left * right);
  }
}

}  // namespace

void gemm(const Tensor& a, Transpose trans_a, const Tensor& b, Transpose trans_b, const Tensor& bias,
          Activation activation, float beta, Tensor& c) {
  const bool turned_a = trans_a == Transpose::yes, turned_b = trans_b == Transpose::yes;
  if (c.numel() == 0) return;
  if (a.numel() == 0) {
    if (beta == 0.0f) c.zero_();
  } else if (c.dtype() == DType::f32 && has_matmul()) {
    const bool fused = activation == Activation::relu || activation == Activation::gelu;
    matmul(a, turned_a, b, turned_b, bias, fused ? activation : Activation::none, beta == 1.0f, c);
    if (!fused && activation != Activation::none) activate(activation, 0.01f, c, c);
    return;
  } else {
    dispatch_float(c.dtype(), "gemm",
                   [&]<class T>() { product<T>(a, turned_a, b, turned_b, beta == 1.0f, c); });
  }
  if (bias) add_bias(c, bias, c);
  if (activation != Activation::none) activate(activation, 0.01f, c, c);
}

}  // namespace adj::kernels::cpu
