#pragma once

#include <adjoint/kernels/attention/attention.h>

namespace adj::kernels {

namespace detail {

/// Checks the arguments that gat and its gradient have in common.
template <class Args>
void check_gat(std::string_view op, const Args& args) {
  const Csr& csr = args.a.csr;
  const Tensor &x = args.x, &c = args.c;
  check_matrix(op, {{"x", x}, {"l", args.l}});
  const int64_t heads = args.heads(), width = x.size(1);
  const DType dtype = x.dtype(), accumulator = accumulator_dtype(dtype);
  const Device device = args.a.device();
  check_structure(op, args, accumulator);
  head_width(op, "x", width, heads);
  check_tensor(op, "l", args.l, {csr.rows, heads}, accumulator, device);
  check_tensor(op, "r", args.r, {csr.cols, heads}, accumulator, device);
  if (c) check_entries(op, "c", args.a, c, accumulator);
  ADJ_CHECK(!c || (c.dims() == 2 && c.size(1) == heads), "{}: c is {} for {} heads", op, c.str(), heads);
  check_tensor(op, "x", x, {csr.cols, width}, dtype, device);
  check_attention_dropout(op, args.dropout);
  check_tiles(op, args, dtype, 1.0f, static_cast<bool>(c));
  check_bias(op, args.bias, width, dtype, device);
  check_tensor(op, "o", args.o, {csr.rows, width}, dtype, device);
  check_tensor(op, "lse", args.lse, {csr.rows, heads}, accumulator, device);
}

}  // namespace detail

/// e_ij = leaky_relu(l_i + r_j + c_ij) and v_j = x_j (GAT eq. 3 and 4, Veličković et al. 2018). l [rows,H], r
/// [cols,H] and, with edge features, c [M,H] have the accumulator dtype; x [cols, H D]. `slope` is
/// leaky_relu's below 0. Writes `o` = O + bias [rows, H D] and lse [rows,H]. bias [H D] is optional and not
/// allowed for bfloat16, where the rounding of the sum would enter Δ.
///
/// `tiles`, a cut of `a`, as in dot_attention: x is rounded to operands; requires heads of at most
/// kWidestTileHead features, without c or dropout.
struct GatArgs {
  const CsrMatrix& a;
  const RowTiles* tiles = nullptr;
  const Tensor& l;
  const Tensor& r;
  const Tensor& c = kAbsent;
  const Tensor& x;
  float slope;
  AttentionDropout dropout = {};
  const Tensor& bias = kAbsent;
  Tensor& o;
  Tensor& lse;

  int64_t heads() const { return l.size(1); }
  int64_t head_width() const { return x.size(1) / heads(); }  ///< D
  void check(std::string_view op) const {
    detail::check_gat(op, *this);
    ADJ_CHECK(!o.shares_storage_with(x), "{}: o cannot be x", op);
  }
};
ADJ_KERNEL(gat, GatArgs)  ///< Attention of GAT.

/// Gradients of gat, called with the same l, r, `c`, x, `slope`, `dropout` and bias; `o` is its output
/// including the bias, `lse` the other one. Outputs dl [rows,H], dr [cols,H], dx [cols, H D] and dc [M,H];
/// those not needed may be absent. `delta` [rows,H] is writable scratch. Rounding of o gives Δ = ⟨d_o, o -
/// bias⟩ an error of up to 2^-24 Σ |d_o| |o|: a large bias costs accuracy.
///
/// If `source` [H,D] and `target` [H,D] are given, l and r are products of x itself, l_i = ⟨target, x_i⟩ and
/// r_j = ⟨source, x_j⟩ (rows and columns are then the same nodes), and dx is the full gradient of x,
/// including dl_j target + dr_j source; dl and dr are required.
///
/// `tiles` and `tiles_at`, cuts of `a` and `at`, are given together: x and d_o are rounded to operands.
struct GatBackwardArgs {
  const CsrMatrix& a;
  const CsrMatrix& at;
  const RowTiles* tiles = nullptr;
  const RowTiles* tiles_at = nullptr;
  const Tensor& l;
  const Tensor& r;
  const Tensor& c = kAbsent;
  const Tensor& x;
  float slope;
  AttentionDropout dropout = {};
  const Tensor& bias = kAbsent;
  const Tensor& o;
  const Tensor& lse;
  const Tensor& d_o;
  const Tensor& source = kAbsent;
  const Tensor& target = kAbsent;
  Tensor& delta;
  Tensor& dl;
  Tensor& dr;
  Tensor& dx;
  Tensor& dc;

  int64_t heads() const { return l.size(1); }                 ///< H
  int64_t head_width() const { return x.size(1) / heads(); }  ///< D
  void check(std::string_view op) const {
    detail::check_gat(op, *this);
    check_like(op, "d_o", d_o, o);
    check_like(op, "delta", delta, lse);
    check_gradients(op, {{"dl", dl, l}, {"dr", dr, r}, {"dx", dx, x}});
    if (dc) check_entries(op, "dc", a, dc, lse.dtype());
    ADJ_CHECK(static_cast<bool>(source) == static_cast<bool>(target), "{}: source without target", op);
    if (source) {
      check_tensor(op, "source", source, {heads(), head_width()}, x.dtype(), a.device());
      check_tensor(op, "target", target, {heads(), head_width()}, x.dtype(), a.device());
      ADJ_CHECK(a.csr.rows == a.csr.cols && dl && dr && dx,
                "{}: with source and target, dl, dr and dx of one set of nodes are expected", op);
    }
    ADJ_CHECK(!dx || (!dx.shares_storage_with(x) && !dx.shares_storage_with(d_o)),
              "{}: dx can be neither x nor d_o", op);
  }
};
ADJ_KERNEL(gat_backward, GatBackwardArgs)  ///< Gradients of gat.

}  // namespace adj::kernels
