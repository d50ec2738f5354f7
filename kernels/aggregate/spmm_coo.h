#pragma once

#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj::kernels {

/// How a GPU sums scattered terms. `fixed_point`: integer atomics, the same bits in every run.
/// `float_atomics_not_reproducible`: float32 atomics, half the bytes; bits differ from run to run, so it is
/// never chosen automatically.
enum class ScatterSums : uint8_t { fixed_point, float_atomics_not_reproducible };
constexpr auto names_of(ScatterSums) { return std::array{"fixed-point", "float-atomics"}; }  ///< option words

namespace detail {

/// Checks the structure, its values and x [cols, F]; returns F. float64 has no fixed point of sufficient
/// precision.
inline int64_t check_scattered(std::string_view op, const Coo& a, const Tensor& values, const Tensor& x) {
  const DType accumulator = values_dtype(op, x.dtype());
  check_coo(op, a);
  ADJ_CHECK(x.dtype() != DType::f64 || a.device().is_cpu(),
            "{}: fixed-point sums do not support float64, expected float32 or bfloat16 on {}, or spmm over "
            "the sorted structure",
            op, a.device().str());
  const int64_t width = width_of(op, x, a.cols, a.device());
  if (values) check_tensor(op, "values", values, {a.entries()}, accumulator, a.device());
  return width;
}

}  // namespace detail

/// Y[rows,F] = act(A X + bias) over the unsorted entries of A: y[row[e]] += w[e] x[col[e]] (gather, apply
/// edge, scatter: fuseGNN, Chen et al. 2020, algorithm 1). With a.transposed() it is the backward pass. X
/// [cols,F], bias [F] optional, `activation` none or relu, `values` [M] of the accumulator dtype, all ones if
/// absent. Nothing of size M x F is allocated.
///
/// The CPU sums each row in list order with sequential float32 additions, for any number of threads: with k
/// terms the rounding error is up to k 2^-24 of the sum of magnitudes, larger than that of spmm, which splits
/// long rows. A GPU sums float32 and bfloat16 in fixed point: each product is rounded to a unit of at most
/// 2^-58 M max |w| max |x| and the sum is exact, so that the order of the atomics does not change the bits.
/// Terms below the unit, relative to the largest product the operands allow, are lost. A product that is not
/// finite gives NaN.
struct SpmmCooArgs {
  const Coo& a;
  const Tensor& values = kAbsent;
  const Tensor& x;
  const Tensor& bias = kAbsent;
  Activation activation = Activation::none;
  ScatterSums sums = ScatterSums::fixed_point;
  Tensor& y;

  void check(std::string_view op) const {
    const int64_t width = detail::check_scattered(op, a, values, x);
    if (bias) check_tensor(op, "bias", bias, {width}, x.dtype(), a.device());
    check_tensor(op, "y", y, {a.rows, width}, x.dtype(), a.device());
    check_fused(op, activation);
    ADJ_CHECK(!y.shares_storage_with(x), "{}: y cannot be x", op);
  }
};
ADJ_KERNEL(spmm_coo, SpmmCooArgs)  ///< spmm over an unsorted list.

/// Both gradients of Y = A(w) X in one pass over the list `a` with w = `values`: dx[col[e]] += w[e]
/// dy[row[e]], summed as in spmm_coo by `sums`, and dw[e] = ⟨dy[row[e]], x[col[e]]⟩, which needs no scatter.
/// `dx` [cols,F] may be absent: then only dw is computed. dw [M] has the accumulator dtype and the same bits
/// in every run.
struct SpmmCooBackwardArgs {
  const Coo& a;
  const Tensor& values = kAbsent;
  const Tensor& dy;
  const Tensor& x;
  ScatterSums sums = ScatterSums::fixed_point;
  Tensor& dx;
  Tensor& dw;

  void check(std::string_view op) const {
    const int64_t width = detail::check_scattered(op, a, values, x);
    check_tensor(op, "dy", dy, {a.rows, width}, x.dtype(), a.device());
    check_tensor(op, "dw", dw, {a.entries()}, accumulator_dtype(x.dtype()), a.device());
    ADJ_CHECK(!values || !dw.shares_storage_with(values), "{}: dw cannot be the values", op);
    if (!dx) return;
    check_tensor(op, "dx", dx, {a.cols, width}, x.dtype(), a.device());
    ADJ_CHECK(!dx.shares_storage_with(dy) && !dx.shares_storage_with(x), "{}: dx cannot be dy or x", op);
  }
};
ADJ_KERNEL(spmm_coo_backward, SpmmCooBackwardArgs)  ///< Gradients of spmm_coo.

}  // namespace adj::kernels
