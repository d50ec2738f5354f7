#pragma once

#include <adjoint/autograd/epilogue.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/sparse/spmm.h>

namespace adj {

namespace detail {

inline void check_fit(const char* op, int64_t cols, Device device, const Var& x) {
  ADJ_CHECK(x.shape().dims() == 2 && x.size(0) == cols, "{}: input {} does not fit a matrix of {} columns",
            op, x.shape().str(), cols);
  ADJ_CHECK(x.device() == device, "{}: matrix on {}, input on {}", op, device.str(), x.device().str());
}

}  // namespace detail

/// act(A x + bias): the aggregation of GCN, SGC and means over a fixed sparse matrix; x [cols,F], bias [F]
/// optional, `activation` none or relu. Linear in x: nothing but A is kept for backward, which aggregates
/// over its adjoint. The bias is of x's dtype; A's values are float32 beside bfloat16.
inline Var spmm(const SparseMatrix& matrix, const Var& x, const Var& bias = {},
                Activation activation = Activation::none) {
  detail::check_fit("spmm", matrix.cols(), matrix.device(), x);
  kernels::check_fused("spmm", activation);
  const SparseMatrix a = matrix.for_features(x.dtype());
  Tensor y = Tensor::empty({a.rows(), x.size(1)}, x.dtype(), x.device());
  kernels::spmm(
      {.a = a.matrix(), .x = x.value(), .bias = bias.value_or_absent(), .activation = activation, .y = y});
  const Saved output = activation == Activation::relu ? Saved(y) : Saved();
  return record("spmm", y, {x, bias}, [a, y = output](Tensor dy, Gradients& out) {
    const Tensor dz = detail::through_epilogue(y, 1, std::move(dy), out);
    if (!out.wanted(0)) return;
    Tensor dx = Tensor::empty({a.cols(), dz.size(1)}, dz.dtype(), dz.device());
    kernels::spmm({.a = a.adjoint(), .x = dz, .y = dx});
    out.add(0, dx);
  });
}

/// A(w) x where the values w [M], by edge number, take a gradient too: dw_ij = ⟨dY_i, x_j⟩ (SDDMM), found in
/// the same pass as dx. w and dw are float32 beside bfloat16 features.
inline Var weighted_spmm(const Relation& relation, const Var& w, const Var& x) {
  detail::check_fit("weighted_spmm", relation.num_src(), relation.device(), x);
  ADJ_CHECK(w.shape() == Shape{relation.num_edges()}, "weighted_spmm: weights {} for {} edges",
            w.shape().str(), relation.num_edges());
  Tensor y = Tensor::empty({relation.num_dst(), x.size(1)}, x.dtype(), x.device());
  kernels::spmm({.a = relation.matrix(w.value()), .x = x.value(), .y = y});
  return record(
      "weighted_spmm", y, {w, x},
      [relation, w = Saved(w.value()), x = Saved(x.value())](Tensor dy, Gradients& out) {
        Tensor dw = out.wanted(0) ? Tensor::empty_like(w.get()) : Tensor{};
        Tensor dx = out.wanted(1) ? Tensor::empty_like(x.get()) : Tensor{};
        if (dw && dx) {
          kernels::spmm_backward(
              {.at = relation.adjoint(w.get()), .dy = dy, .x = x.get(), .dx = dx, .dw = dw});
        } else if (dw) {
          kernels::sddmm({.a = {relation.csr(), {}, relation.csr_order()}, .y = dy, .x = x.get(), .dw = dw});
        } else if (dx) {
          kernels::spmm({.a = relation.adjoint(w.get()), .x = dy, .y = dx});
        }
        if (dw) out.add(0, dw);
        if (dx) out.add(1, dx);
      });
}

}  // namespace adj
