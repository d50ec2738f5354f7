#include <adjoint/autograd/spmm.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/reduce.h>
#include <adjoint/kernels/spmm.h>

namespace adj {

namespace {

void check_fit(const char* op, int64_t cols, Device device, const Var& x) {
  ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == cols, "{}: input {} does not fit a matrix of {} columns",
            op, x.shape().str(), cols);
  ADJ_CHECK(x.device() == device, "{}: matrix on {}, input on {}", op, device.str(), x.device().str());
}

}  // namespace

Var spmm(const SparseMatrix& matrix, const Var& x, const Var& bias, Activation activation) {
  check_fit("spmm", matrix.cols(), matrix.device(), x);
  ADJ_CHECK(activation == Activation::none || activation == Activation::relu,
            "spmm: activation {} is not fused here", name_of(activation));
  // Normalised weights are float32; a gradient check runs the same layer in float64.
  const SparseMatrix a = x.dtype() == DType::f64 && matrix.values() && matrix.values().dtype() != DType::f64
                             ? matrix.with_values(matrix.values().to(DType::f64))
                             : matrix;
  Tensor y = Tensor::empty({a.rows(), x.size(1)}, x.dtype(), x.device());
  kernels::spmm(a.matrix(), x.value(), bias ? bias.value() : Tensor{}, activation, y);
  const bool has_relu = activation == Activation::relu;
  return record("spmm", y, {x, bias}, [a, y = has_relu ? Saved(y) : Saved()](Tensor dy, Gradients& out) {
    if (y) {
      Tensor dz = reuse(dy);
      kernels::activate_backward(Activation::relu, 0.0f, y.get(), dy, dz);
      dy = std::move(dz);
    }
    if (out.wanted(1)) {
      Tensor dbias = Tensor::empty({dy.size(1)}, dy.dtype(), dy.device());
      kernels::sum_rows(dy, dbias);
      out.add(1, dbias);
    }
    if (!out.wanted(0)) return;
    Tensor dx = Tensor::empty({a.cols(), dy.size(1)}, dy.dtype(), dy.device());
    kernels::spmm(a.adjoint(), dy, {}, Activation::none, dx);
    out.add(0, dx);
  });
}

Var weighted_spmm(const std::shared_ptr<const SparsePattern>& pattern, const Var& w, const Var& x) {
  check_fit("weighted_spmm", pattern->cols(), pattern->csr().device(), x);
  ADJ_CHECK(w.shape() == Shape{pattern->entries()}, "weighted_spmm: weights {} for {} entries",
            w.shape().str(), pattern->entries());
  Tensor y = Tensor::empty({pattern->rows(), x.size(1)}, x.dtype(), x.device());
  kernels::spmm({pattern->csr(), w.value(), {}}, x.value(), {}, Activation::none, y);
  return record(
      "weighted_spmm", y, {w, x},
      [pattern, w = Saved(w.value()), x = Saved(x.value())](Tensor dy, Gradients& out) {
        Tensor dw = out.wanted(0) ? Tensor::empty_like(w.get()) : Tensor{};
        Tensor dx = out.wanted(1) ? Tensor::empty_like(x.get()) : Tensor{};
        if (dw && dx) {
          kernels::spmm_backward({pattern->transposed(), w.get(), pattern->order()}, dy, x.get(), dx, dw);
        } else if (dw) {
          kernels::sddmm({pattern->csr(), {}, {}}, dy, x.get(), dw);
        } else if (dx) {
          kernels::spmm({pattern->transposed(), w.get(), pattern->order()}, dy, {}, Activation::none, dx);
        }
        if (dw) out.add(0, dw);
        if (dx) out.add(1, dx);
      });
}

}  // namespace adj
