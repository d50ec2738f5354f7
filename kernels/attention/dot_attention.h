#pragma once

#include <adjoint/kernels/attention/attention.h>

namespace adj::kernels {

namespace detail {

/// Checks the arguments that dot_attention and its gradient have in common.
template <class Args>
void check_dot_attention(std::string_view op, const Args& args) {
  const Csr& csr = args.a.csr;
  const Tensor &q = args.q, &v = args.v, &s = args.s, &attr = args.attr, &u = args.u;
  check_matrix(op, "q", q);
  const int64_t heads = args.heads, width = q.size(1);
  const DType dtype = q.dtype(), accumulator = accumulator_dtype(dtype);
  const Device device = args.a.device();
  check_structure(op, args, accumulator);
  head_width(op, "q", width, heads);
  check_tensor(op, "q", q, {csr.rows, width}, dtype, device);
  check_tensor(op, "k", args.k, {csr.cols, width}, dtype, device);
  if (v) check_tensor(op, "v", v, {csr.cols, width}, dtype, device);
  if (s) check_tensor(op, "s", s, {csr.cols, heads}, accumulator, device);
  ADJ_CHECK(!v || !s, "{}: s is for keys that are values, but there is v", op);
  ADJ_CHECK(v || !attr, "{}: edge features come with v", op);
  if (attr) {
    check_entries(op, "attr", args.a, attr, accumulator);
    check_tensor(op, "u", u, {csr.rows, heads * heads_of(attr)}, dtype, device);
  }
  check_attention_dropout(op, args.dropout);
  check_tiles(op, args, dtype, args.scale, static_cast<bool>(attr));
  ADJ_CHECK(args.tiles == nullptr || v, "{}: over tiles keys cannot be values", op);
  check_tensor(op, "o", args.o, {csr.rows, width}, dtype, device);
  check_tensor(op, "lse", args.lse, {csr.rows, heads}, accumulator, device);
}

}  // namespace detail

/// e_ij = scale (⟨q_i, k_j⟩ + ⟨u_i, attr_ij⟩) (Vaswani et al. 2017; over graph edges, Shi et al. 2021). q
/// [rows, H D], k and v [cols, H D]. Writes `o` [rows, H D] and `lse` [rows,H].
///
/// Without v the values are the keys, each times s_j if `s` [cols,H] (accumulator dtype) is given: an edge
/// then gathers one row instead of two (AGNN, Thekumparampil et al. 2018: k_j = x_j / |x_j|, s_j = |x_j|).
///
/// Edge features attr [M,E] (accumulator dtype) come with v, u [rows, H E] and o_attr [rows, H E] = Σ_j m_ij
/// α_ij attr_ij per head: to add W attr_ij to keys and values, use u_i = q_i W and O_i + o_attr_i Wᵀ; nothing
/// of size M x D is materialized.
///
/// With `tiles`, a cut of `a`, a GPU of compute capability 9.0 reduces the entries in tiles on tensor cores.
/// Operands have 8 significant bits for bfloat16 features and 11 for float32 ones: the latter are float16,
/// scaled by one power of two per matrix (numbers no less than 2^-29 of the largest keep all bits). The
/// remaining entries are computed as without tiles. Requires heads of at most kWidestTileHead features and v,
/// without edge features or dropout. Ignored on a CPU.
struct DotAttentionArgs {
  const CsrMatrix& a;
  const RowTiles* tiles = nullptr;
  int64_t heads;
  float scale;
  const Tensor& q;
  const Tensor& k;
  const Tensor& v = kAbsent;
  const Tensor& s = kAbsent;
  const Tensor& attr = kAbsent;
  const Tensor& u = kAbsent;
  AttentionDropout dropout = {};
  Tensor& o;
  Tensor& o_attr;
  Tensor& lse;

  int64_t head_width() const { return q.size(1) / heads; }  ///< D
  void check(std::string_view op) const {
    ADJ_CHECK(static_cast<bool>(attr) == static_cast<bool>(u) &&
                  static_cast<bool>(attr) == static_cast<bool>(o_attr),
              "{}: attr, u and o_attr come together", op);
    detail::check_dot_attention(op, *this);
    if (attr) check_like(op, "o_attr", o_attr, u);
    for (const Tensor* input : {&q, &k, &v})
      ADJ_CHECK(!*input || !o.shares_storage_with(*input), "{}: o can be none of q, k and v", op);
  }
};
ADJ_KERNEL(dot_attention, DotAttentionArgs)  ///< Attention by dot products of queries and keys.

/// Gradients of dot_attention, called with the same `q`, `k`, `v`, `s`, `attr`, `u`, `heads`, `scale` and
/// `dropout`, from its `lse`: `dq`, `dk`, `dv`, `ds`, `dattr` and `du`, each like its operand; those not
/// needed may be absent. Without v, dk is the full gradient of the tensor that is both key and value.
/// d_o_attr comes with attr; if o_attr is omitted, its contribution must already be in `o`, and Δ_i = ⟨dO_i,
/// O_i⟩, else Δ_i = ⟨dO_i, O_i⟩ + ⟨d_o_attr_i, o_attr_i⟩. `delta` [rows,H] is writable scratch. `tiles` and
/// `tiles_at`, cuts of `a` and `at`, are given together: see dot_attention; logit gradients are rounded to
/// operands as well, and keep all bits down to 2^-29 of 2 D times the largest of d_o and v.
struct DotAttentionBackwardArgs {
  const CsrMatrix& a;
  const CsrMatrix& at;
  const RowTiles* tiles = nullptr;
  const RowTiles* tiles_at = nullptr;
  int64_t heads;
  float scale;
  const Tensor& q;
  const Tensor& k;
  const Tensor& v = kAbsent;
  const Tensor& s = kAbsent;
  const Tensor& attr = kAbsent;
  const Tensor& u = kAbsent;
  AttentionDropout dropout = {};
  AttentionGradient gradient = AttentionGradient::by_size;
  const Tensor& o;
  const Tensor& o_attr = kAbsent;
  const Tensor& lse;
  const Tensor& d_o;
  const Tensor& d_o_attr = kAbsent;
  Tensor& delta;
  Tensor& dq;
  Tensor& dk;
  Tensor& dv;
  Tensor& ds;
  Tensor& dattr;
  Tensor& du;

  int64_t head_width() const { return q.size(1) / heads; }  ///< D
  void check(std::string_view op) const {
    const bool featured = static_cast<bool>(attr);
    ADJ_CHECK(
        featured == static_cast<bool>(u) && featured == static_cast<bool>(d_o_attr) && (featured || !o_attr),
        "{}: attr, u and d_o_attr come together", op);
    detail::check_dot_attention(op, *this);
    ADJ_CHECK(v || !dv, "{}: dv without v", op);
    ADJ_CHECK(s || !ds, "{}: ds without s", op);
    if (featured) check_like(op, "d_o_attr", d_o_attr, u);
    ADJ_CHECK(featured || (!dattr && !du), "{}: gradients of edge features where there are none", op);
    if (o_attr) check_like(op, "o_attr", o_attr, u);
    check_like(op, "d_o", d_o, o);
    check_like(op, "delta", delta, lse);
    check_gradients(
        op,
        {{"dq", dq, q}, {"dk", dk, k}, {"dv", dv, v}, {"ds", ds, s}, {"dattr", dattr, attr}, {"du", du, u}});
    for (const Tensor* output : {&dq, &dk, &dv})
      for (const Tensor* input : {&q, &k, &v, &o, &d_o})
        ADJ_CHECK(!*output || !*input || !output->shares_storage_with(*input),
                  "{}: dq, dk and dv can be none of q, k, v, o and d_o", op);
  }
};
ADJ_KERNEL(dot_attention_backward, DotAttentionBackwardArgs)  ///< Gradients of dot_attention.

}  // namespace adj::kernels
