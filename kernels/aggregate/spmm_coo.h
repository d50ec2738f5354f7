#pragma once

#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/kernels/sparse/coo.h>

namespace adj::kernels {

/// How a GPU adds up what is scattered. `fixed_point`: integer atomics, the same bits in every run.
/// `float_atomics_not_reproducible`: atomics of float32, of half the bytes; bits depend on which thread comes
/// first and differ from run to run, so that nothing chooses them by itself.
enum class ScatterSums : uint8_t { fixed_point, float_atomics_not_reproducible };

namespace detail {

/// float64 has no fixed point that is as exact.
inline void check_scattered(std::string_view op, const Coo& a, DType features) {
  check_coo(op, a);
  ADJ_CHECK(features != DType::f64 || a.device().is_cpu(),
            "{}: float64 is not summed in fixed point, expected float32 or bfloat16 on {}, or spmm over the "
            "sorted structure",
            op, a.device().str());
}

}  // namespace detail

/// Y[rows,F] = act(A X + bias) over the unsorted entries of A: y[row[e]] += w[e] x[col[e]] (gather, apply
/// edge, scatter: fuseGNN, Chen et al. 2020, algorithm 1). With a.transposed() it is the backward pass. X
/// [cols,F], bias [F] optional, act none or relu, `values` [M] wide, all ones where absent. Nothing of size M
/// x F exists.
///
/// The CPU sums every row in list order, however many threads there are, one float32 addition after the
/// other: of k terms up to k 2^-24 of their magnitudes may be lost, which spmm, that cuts long rows, keeps. A
/// GPU sums float32 and bfloat16 in fixed point: every product is rounded to a unit of at most 2^-58 M max
/// |w| max |x|, the sum is exact, so that the order of the atomics changes no bit. What is smaller than a
/// unit, beside the largest product that the operands allow, is lost. A product that is not finite leaves
/// NaN.
struct SpmmCooArgs {
  const Coo& a;
  const Tensor& values = kAbsent;
  const Tensor& x;
  const Tensor& bias = kAbsent;
  Activation activation = Activation::none;
  ScatterSums sums = ScatterSums::fixed_point;
  Tensor& y;

  Device device() const { return a.device(); }
  void check() const {
    const DType accumulator = detail::values_dtype("spmm_coo", x.dtype());
    detail::check_scattered("spmm_coo", a, x.dtype());
    const Device device = a.device();
    const int64_t width = detail::width_of("spmm_coo", "x", x, a.cols);
    if (values) check_tensor("spmm_coo", "values", values, {a.entries()}, accumulator, device);
    check_tensor("spmm_coo", "x", x, {a.cols, width}, x.dtype(), device);
    if (bias) check_tensor("spmm_coo", "bias", bias, {width}, x.dtype(), device);
    check_tensor("spmm_coo", "y", y, {a.rows, width}, x.dtype(), device);
    check_fused("spmm_coo", activation);
    ADJ_CHECK(!y.shares_storage_with(x), "spmm_coo: y cannot be x");
  }
};
ADJ_KERNEL(spmm_coo, SpmmCooArgs)

/// Both gradients of Y = A(w) X in one pass over the list: dx[col[e]] += w[e] dy[row[e]], summed as spmm_coo
/// does, and dw[e] = ⟨dy[row[e]], x[col[e]]⟩, which needs no scatter. `dx` [cols,F] may be absent: then dw
/// alone. dw [M] is wide and has the same bits in every run.
struct SpmmCooBackwardArgs {
  const Coo& a;
  const Tensor& values = kAbsent;
  const Tensor& dy;
  const Tensor& x;
  ScatterSums sums = ScatterSums::fixed_point;
  Tensor& dx;
  Tensor& dw;

  Device device() const { return a.device(); }
  void check() const {
    const DType accumulator = detail::values_dtype("spmm_coo_backward", x.dtype());
    detail::check_scattered("spmm_coo_backward", a, x.dtype());
    const Device device = a.device();
    const int64_t width = detail::width_of("spmm_coo_backward", "x", x, a.cols);
    if (values) check_tensor("spmm_coo_backward", "values", values, {a.entries()}, accumulator, device);
    check_tensor("spmm_coo_backward", "x", x, {a.cols, width}, x.dtype(), device);
    check_tensor("spmm_coo_backward", "dy", dy, {a.rows, width}, x.dtype(), device);
    check_tensor("spmm_coo_backward", "dw", dw, {a.entries()}, accumulator, device);
    ADJ_CHECK(!values || !dw.shares_storage_with(values), "spmm_coo_backward: dw cannot be the values");
    if (!dx) return;
    check_tensor("spmm_coo_backward", "dx", dx, {a.cols, width}, x.dtype(), device);
    ADJ_CHECK(!dx.shares_storage_with(dy) && !dx.shares_storage_with(x),
              "spmm_coo_backward: dx cannot be dy or x");
  }
};
ADJ_KERNEL(spmm_coo_backward, SpmmCooBackwardArgs)

}  // namespace adj::kernels
