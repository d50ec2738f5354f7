// GCC 12 takes the undefined registers of its own AVX-512 intrinsics for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <adjoint/kernels/dense/cpu/gemm_bf16.h>
#include <adjoint/kernels/dense/cpu/matmul.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <Eigen/Core>

namespace adj::kernels::cpu {

namespace {

/// C = op(A) op(B).
template <class T>
void product(const Tensor& a, bool turned_a, const Tensor& b, bool turned_b, Tensor& c) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> left(a.data<T>(), a.size(0), a.size(1));
  const Eigen::Map<const Matrix> right(b.data<T>(), b.size(0), b.size(1));
  Eigen::Map<Matrix> result(c.mutable_data<T>(), c.size(0), c.size(1));
  const auto assign = [&](const auto& value) { result.noalias() = value; };
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

void gemm(const GemmArgs& args) {
  const bool turned_a = args.trans_a == Transpose::yes, turned_b = args.trans_b == Transpose::yes;
  if (args.c.numel() == 0) return;
  if (args.a.numel() == 0) {
    args.c.zero_();
  } else if (args.c.dtype() == DType::bf16) {
    return gemm_bf16(args);
  } else if (args.c.dtype() == DType::f32 && has_matmul()) {
    return matmul(args.a, turned_a, args.b, turned_b, args.bias, args.activation, args.c);
  } else {
    dispatch_float(args.c.dtype(), "gemm",
                   [&]<class T>() { product<T>(args.a, turned_a, args.b, turned_b, args.c); });
  }
  if (args.bias) add_bias({.x = args.c, .bias = args.bias, .y = args.c});
  if (args.activation != Activation::none)
    activate({.activation = args.activation, .x = args.c, .y = args.c});
}

}  // namespace adj::kernels::cpu
