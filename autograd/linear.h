// Saved for backward: the input (for dW), the weight (for dX), and with relu the output (its sign is the
// mask). The input is let go before dX is allocated.
#pragma once

#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/epilogue.h>
#include <adjoint/data/features.h>
#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/sparse/spmm.h>

namespace adj {

/// act(x w + bias): x [N,in], w [in,out], bias [out] optional. Bias and relu are part of the product's own
/// pass; other activations follow in a second.
inline Var linear(const Var& x, const Var& w, const Var& bias = {},
                  Activation activation = Activation::none) {
  const OpScope scope("linear", x, w, bias);
  check_same_device("linear", {x, w, bias});
  ADJ_CHECK(x.shape().dims() == 2 && w.shape().dims() == 2 && x.size(1) == w.size(0),
            "linear: input {} does not fit weight {}", x.shape().str(), w.shape().str());
  if (activation != Activation::none && activation != Activation::relu)
    return activate(activation, linear(x, w, bias));
  using kernels::Transpose;
  Tensor y = Tensor::empty({x.size(0), w.size(1)}, w.dtype(), w.device());
  kernels::gemm(
      {.a = x.value(), .b = w.value(), .bias = bias.value_or_absent(), .activation = activation, .c = y});
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  return record("linear", y, {x, w, bias},
                [x = Saved(x.value()), w = Saved(w.value()), y = output](Tensor dy, Gradients& out) mutable {
                  const Tensor dz = detail::through_epilogue(y, 2, std::move(dy), out);
                  y = {};
                  const Shape x_shape = x.get().shape();
                  if (out.wanted(1)) {
                    Tensor dw = Tensor::empty_like(w.get());
                    kernels::gemm({.a = x.get(), .trans_a = Transpose::yes, .b = dz, .c = dw});
                    out.add(1, dw);
                  }
                  x = {};
                  if (!out.wanted(0)) return;
                  Tensor dx = Tensor::empty(x_shape, dz.dtype(), dz.device());
                  kernels::gemm({.a = dz, .b = w.get(), .trans_b = Transpose::yes, .c = dx});
                  out.add(0, dx);
                });
}

/// The same for features, dense or sparse, which take no gradient. Dense ones are of the weight's dtype
/// (Features::to); sparse ones keep float32 values beside a bfloat16 weight.
inline Var linear(const Features& x, const Var& w, const Var& bias = {},
                  Activation activation = Activation::none) {
  const OpScope scope("linear", x, w, bias);
  if (!x.is_sparse()) return linear(Var(x.dense()), w, bias, activation);
  ADJ_CHECK(x.device() == w.device(), "linear: features on {}, weight on {}", x.device().str(),
            w.device().str());
  ADJ_CHECK(w.shape().dims() == 2 && x.cols() == w.size(0), "linear: features [{}, {}] do not fit weight {}",
            x.rows(), x.cols(), w.shape().str());
  if (activation != Activation::none && activation != Activation::relu)
    return activate(activation, linear(x, w, bias));
  const SparseMatrix a = x.sparse().for_features(w.dtype());
  Tensor y = Tensor::empty({a.rows(), w.size(1)}, w.dtype(), w.device());
  kernels::spmm(
      {.a = a.matrix(), .x = w.value(), .bias = bias.value_or_absent(), .activation = activation, .y = y});
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  return record("sparse_linear", y, {w, bias},
                [a, values = Saved(a.values()), y = output](Tensor dy, Gradients& out) {
                  const Tensor dz = detail::through_epilogue(y, 1, std::move(dy), out);
                  if (!out.wanted(0)) return;
                  (void)values.get();  // the matrix's own: throws where they were written to
                  Tensor dw = Tensor::empty({a.cols(), dz.size(1)}, dz.dtype(), dz.device());
                  kernels::spmm({.a = a.adjoint(), .x = dz, .y = dw});
                  out.add(0, dw);
                });
}

/// a b.
inline Var matmul(const Var& a, const Var& b) { return linear(a, b); }
inline Var matmul(const Features& a, const Var& b) { return linear(a, b); }

}  // namespace adj
