#pragma once

#include <adjoint/kernels/attention/attention.h>

namespace adj::kernels {

namespace detail {

/// Checks the arguments that gatv2 and its gradient have in common.
template <class Args>
void check_gatv2(std::string_view op, const Args& args) {
  const Csr& csr = args.a.csr;
  const Tensor &att = args.att, &attr = args.attr;
  check_float(op, "l", args.l);
  check_matrix(op, "att", att);
  const int64_t heads = args.heads(), width = att.numel();
  const DType dtype = args.l.dtype(), accumulator = accumulator_dtype(dtype);
  const Device device = args.a.device();
  check_structure(op, args, accumulator);
  ADJ_CHECK(width >= 1, "{}: att is {}, expected [H, D], at least 1 each", op, att.str());
  check_tensor(op, "att", att, att.shape(), dtype, device);
  check_tensor(op, "l", args.l, {csr.rows, width}, dtype, device);
  check_tensor(op, "r", args.r, {csr.cols, width}, dtype, device);
  ADJ_CHECK(static_cast<bool>(attr) == static_cast<bool>(args.w), "{}: attr and w come together", op);
  if (attr) {
    check_entries(op, "attr", args.a, attr, accumulator);
    check_tensor(op, "w", args.w, {heads_of(attr), width}, dtype, device);
  }
  check_attention_dropout(op, args.dropout);
  check_bias(op, args.bias, width, dtype, device);
  check_tensor(op, "o", args.o, {csr.rows, width}, dtype, device);
  check_tensor(op, "lse", args.lse, {csr.rows, heads}, accumulator, device);
}

}  // namespace detail

/// e_ij = ⟨att, leaky_relu(l_i + r_j + w_ij)⟩ and v_j = r_j (GATv2 eq. 7, Brody et al. 2022). l [rows, H D]
/// are target features, r [cols, H D] source features, att [H,D]; `slope` is leaky_relu's below 0; with edge
/// features w_ij = attr_ij W, attr [M,E] of the accumulator dtype and W = `w` [E, H D]; nothing of size M x D
/// is materialized. bias [H D], optional and not allowed for bfloat16, is added to O; `o` [rows, H D] holds
/// the sum. `dropout` acts on α. `lse` is that of the logits without the part constant in a row, as the
/// backward pass recomputes them; it is only meaningful there.
struct Gatv2Args {
  const CsrMatrix& a;
  const Tensor& l;
  const Tensor& r;
  const Tensor& att;
  const Tensor& attr = kAbsent;
  const Tensor& w = kAbsent;
  float slope;
  AttentionDropout dropout = {};
  const Tensor& bias = kAbsent;
  Tensor& o;
  Tensor& lse;

  int64_t heads() const { return att.size(0); }       ///< H
  int64_t head_width() const { return att.size(1); }  ///< D
  void check(std::string_view op) const {
    detail::check_gatv2(op, *this);
    ADJ_CHECK(!o.shares_storage_with(l) && !o.shares_storage_with(r), "{}: o can be neither l nor r", op);
  }
};
ADJ_KERNEL(gatv2, Gatv2Args)  ///< Attention of GATv2.

/// Gradients of gatv2, called with the same `a`, `l`, `r`, `att`, `attr`, `w`, `slope`, `dropout` and bias;
/// `o` is its output including the bias, `lse` the other one. `at` is the transpose of `a`; `gradient`: see
/// AttentionGradient. Outputs dl [rows, H D], dr [cols, H D], datt [H,D], dattr [M,E] (accumulator dtype) and
/// dw [E, H D]; those not needed may be absent. `delta` [rows,H] is writable scratch. Rounding of o gives Δ =
/// ⟨d_o, o - bias⟩ an error of up to 2^-24 Σ |d_o| |o|.
struct Gatv2BackwardArgs {
  const CsrMatrix& a;
  const CsrMatrix& at;
  const Tensor& l;
  const Tensor& r;
  const Tensor& att;
  const Tensor& attr = kAbsent;
  const Tensor& w = kAbsent;
  float slope;
  AttentionDropout dropout = {};
  AttentionGradient gradient = AttentionGradient::by_size;
  const Tensor& bias = kAbsent;
  const Tensor& o;
  const Tensor& lse;
  const Tensor& d_o;
  Tensor& delta;
  Tensor& dl;
  Tensor& dr;
  Tensor& datt;
  Tensor& dattr;
  Tensor& dw;

  int64_t heads() const { return att.size(0); }       ///< H
  int64_t head_width() const { return att.size(1); }  ///< D
  void check(std::string_view op) const {
    detail::check_gatv2(op, *this);
    ADJ_CHECK(attr || (!dattr && !dw), "{}: gradients of edge features where there are none", op);
    check_like(op, "d_o", d_o, o);
    check_like(op, "delta", delta, lse);
    check_gradients(
        op, {{"dl", dl, l}, {"dr", dr, r}, {"datt", datt, att}, {"dattr", dattr, attr}, {"dw", dw, w}});
    for (const Tensor* output : {&dl, &dr})
      ADJ_CHECK(!*output || (!output->shares_storage_with(l) && !output->shares_storage_with(r) &&
                             !output->shares_storage_with(d_o) && !output->shares_storage_with(o)),
                "{}: dl and dr can be none of l, r, o and d_o", op);
  }
};
ADJ_KERNEL(gatv2_backward, Gatv2BackwardArgs)  ///< Gradients of gatv2.

}  // namespace adj::kernels
