// Saved for backward: the input (for dW), the weight (for dX), and with relu the output (its sign is the
// mask). The input is let go before dX is allocated.
#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/gemm.h>
#include <adjoint/kernels/reduce.h>
#include <adjoint/kernels/spmm.h>

namespace adj {

using kernels::Transpose;

namespace {

SparseMatrix with_dtype(const SparseMatrix& a, DType dtype) {
  return a.values() && a.values().dtype() != dtype && dtype == DType::f64
             ? a.with_values(a.values().to(dtype))
             : a;
}

// The gradient at the product, behind relu, and the bias's share of it.
Tensor through_epilogue(const Saved& y, Tensor dy, Gradients& out) {
  if (y) {
    Tensor dz = reuse(dy);
    kernels::activate_backward(Activation::relu, 0.0f, y.get(), dy, dz);
    dy = std::move(dz);
  }
  if (out.wanted(2)) {
    Tensor dbias = Tensor::empty({dy.size(1)}, dy.dtype(), dy.device());
    kernels::sum_rows(dy, dbias);
    out.add(2, dbias);
  }
  return dy;
}

}  // namespace

Var linear(const Var& x, const Var& w, const Var& bias, Activation activation) {
  check_same_device("linear", {x, w, bias});
  ADJ_CHECK(x.shape().dims() == 2 && w.shape().dims() == 2 && x.size(1) == w.size(0),
            "linear: input {} does not fit weight {}", x.shape().str(), w.shape().str());
  if (activation != Activation::none && activation != Activation::relu)
    return activate(activation, linear(x, w, bias));
  Tensor y = Tensor::empty({x.size(0), w.size(1)}, w.dtype(), w.device());
  const Tensor bias_value = bias ? bias.value() : Tensor{};
  const bool has_relu = activation == Activation::relu;

  if (x.is_sparse()) {
    const SparseMatrix a = with_dtype(x.sparse(), w.dtype());
    kernels::spmm(a.matrix(), w.value(), bias_value, activation, y);
    return record("sparse_linear", y, {x, w, bias},
                  [a, y = has_relu ? Saved(y) : Saved()](Tensor dy, Gradients& out) {
                    const Tensor dz = through_epilogue(y, std::move(dy), out);
                    if (!out.wanted(1)) return;
                    Tensor dw = Tensor::empty({a.cols(), dz.size(1)}, dz.dtype(), dz.device());
                    kernels::spmm(a.adjoint(), dz, {}, Activation::none, dw);
                    out.add(1, dw);
                  });
  }

  kernels::gemm(x.value(), Transpose::no, w.value(), Transpose::no, bias_value, activation, 0.0f, y);
  return record("linear", y, {x, w, bias},
                [x = Saved(x.value()), w = Saved(w.value()), y = has_relu ? Saved(y) : Saved()](
                    Tensor dy, Gradients& out) mutable {
                  const Tensor dz = through_epilogue(y, std::move(dy), out);
                  y = {};
                  const Shape x_shape = x.get().shape();
                  if (out.wanted(1)) {
                    Tensor dw = Tensor::empty_like(w.get());
                    kernels::gemm(x.get(), Transpose::yes, dz, Transpose::no, {}, Activation::none, 0.0f, dw);
                    out.add(1, dw);
                  }
                  x = {};
                  if (!out.wanted(0)) return;
                  Tensor dx = Tensor::empty(x_shape, dz.dtype(), dz.device());
                  kernels::gemm(dz, Transpose::no, w.get(), Transpose::yes, {}, Activation::none, 0.0f, dx);
                  out.add(0, dx);
                });
}

Var matmul(const Var& a, const Var& b) { return linear(a, b); }

}  // namespace adj
