#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention_weights.h>
#include <adjoint/autograd/detail/attention.h>
#include <adjoint/autograd/detail/edge_mask.h>
#include <adjoint/autograd/detail/halo.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/attention/dot_attention.h>
#include <adjoint/kernels/attention/head_dot.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/norm/norm.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <cmath>

namespace adj {

namespace {

constexpr double kLeastNorm = 1e-12;  // of keys whose direction is taken

// x [N, H E] times each head's columns of the edge features' weight [E, H D]; `turned`: x [N, H D] times
// their transpose.
Tensor head_product_of(const Tensor& x, const Tensor& weight, int64_t heads, bool turned) {
  Tensor y =
      Tensor::empty({x.size(0), turned ? heads * weight.size(0) : weight.size(1)}, x.dtype(), x.device());
  kernels::head_product({.x = x, .weight = weight, .heads = heads, .turned = turned, .y = y});
  return y;
}

/// Records softmax_j(scale ⟨q_i, k_j + w_ij⟩) for q and k [N, H D].
void record_dots(const Relation& relation, const Tensor& q, const Tensor& k, int64_t heads, float scale,
                 const Tensor& attr = {}, const Tensor& weight = {}) {
  detail::record_attention(relation, heads, attr, [&](const detail::EdgePart& part) {
    Var keys = index_select(Var(k.to(DType::f32)), part.src);
    if (part.attr) keys = keys + Var(detail::product_of(part.attr.to(DType::f32), weight.to(DType::f32)));
    const Var products = index_select(Var(q.to(DType::f32)), part.dst) * keys;
    return (sum(reshape(products, {part.src.numel(), heads, q.size(1) / heads}), 2) * scale).value();
  });
}

}  // namespace

Var dot_attention(const Relation& relation, const Var& q, const Var& k, const Var& v,
                  const AttentionOptions& options, float scale) {
  constexpr const char* op = "dot_attention";
  const OpScope scope(op, relation, q, k, v, options.edge_attr, options.edge_weight);
  if (relation.is_rank_part())
    return dot_attention(relation.local_edges(), q, detail::halo_rows(relation, k),
                         detail::halo_rows(relation, v), options, scale);
  detail::check_heads(op, "q", relation, q, relation.num_dst());
  const int64_t heads = q.size(1), width = q.size(2);
  detail::check_beside(op, "k", k, {relation.num_src(), heads, width}, q);
  detail::check_beside(op, "v", v, {relation.num_src(), heads, width}, q);
  detail::check_edge_features(op, relation, options, heads * width, q);
  if (scale == 0.0f) scale = 1.0f / std::sqrt(static_cast<float>(width));
  if (const Var mask = detail::edge_mask(op, relation)) {
    detail::require_no_dropout(op, options);
    const auto [src, dst] = relation.edge_index();
    Var keys = index_select(k, src), values = index_select(v, src);
    if (options.edge_attr) {
      const Var w = reshape(matmul(cast(options.edge_attr, q.dtype()), options.edge_weight), keys.shape());
      keys = keys + w;
      values = values + w;
    }
    return detail::attend_masked(relation, sum(index_select(q, dst) * keys, 2) * scale, values, mask);
  }
  const DType accumulator = accumulator_dtype(q.dtype());
  const bool featured = static_cast<bool>(options.edge_attr);
  const kernels::AttentionDropout dropout = detail::attention_dropout(options);
  const auto tiles = kernels::choose_attention_tiles(op, detail::by_target(relation).csr,
                                                     {.heads = heads,
                                                      .width = width,
                                                      .gathered = 2,
                                                      .features = q.dtype(),
                                                      .drops = dropout.drops(),
                                                      .edge_features = featured});
  const Tensor q_rows = detail::as_matrix(q.value());
  record_dots(relation, q_rows, detail::as_matrix(k.value()), heads, scale,
              options.edge_attr.value_or_absent(), options.edge_weight.value_or_absent());
  Tensor o = Tensor::empty({relation.num_dst(), heads, width}, q.dtype(), q.device());
  Tensor o_rows = detail::as_matrix(o), o_attr;
  Tensor lse = detail::head_terms(relation.num_dst(), heads, q_rows);
  {
    const Tensor u = featured ? head_product_of(q_rows, options.edge_weight.value(), heads, true) : Tensor();
    if (featured) o_attr = Tensor::empty_like(u);
    kernels::dot_attention({.a = detail::by_target(relation),
                            .tiles = tiles.get(),
                            .heads = heads,
                            .scale = scale,
                            .q = q_rows,
                            .k = detail::as_matrix(k.value()),
                            .v = detail::as_matrix(v.value()),
                            .attr = featured ? options.edge_attr.value().to(accumulator) : Tensor(),
                            .u = u,
                            .dropout = dropout,
                            .o = o_rows,
                            .o_attr = o_attr,
                            .lse = lse});
    if (featured)
      kernels::head_product({.x = o_attr,
                             .weight = options.edge_weight.value(),
                             .heads = heads,
                             .accumulate = true,
                             .y = o_rows});
  }
  enum : size_t { kQ, kK, kV, kEdgeAttr, kEdgeWeight };
  return record(op, o, {q, k, v, options.edge_attr, options.edge_weight},
                [relation, tiles, heads, scale, dropout, featured, accumulator, q = Saved(q.value()),
                 k = Saved(k.value()), v = Saved(v.value()),
                 attr = featured ? Saved(options.edge_attr.value()) : Saved(),
                 weight = featured ? Saved(options.edge_weight.value()) : Saved(), lse, o = Saved(o),
                 o_attr](Tensor dy, Gradients& out) {
                  const Tensor queries = detail::as_matrix(q.get()), d_o = detail::as_matrix(dy);
                  const bool wants_q = out.wanted(kQ), wants_weight = featured && out.wanted(kEdgeWeight);
                  Tensor dq = detail::empty_if(wants_q, q.get()), dq_rows = detail::rows_of(dq);
                  Tensor dk = detail::empty_if(out.wanted(kK), k.get()), dk_rows = detail::rows_of(dk);
                  Tensor dv = detail::empty_if(out.wanted(kV), v.get()), dv_rows = detail::rows_of(dv);
                  Tensor features, u, du, d_o_attr, dattr, ds;
                  if (featured) {
                    features = attr.get().to(accumulator);
                    u = head_product_of(queries, weight.get(), heads, true);
                    d_o_attr = head_product_of(d_o, weight.get(), heads, true);
                    du = detail::empty_if(wants_q || wants_weight, u);
                    dattr = detail::empty_if(out.wanted(kEdgeAttr), features);
                  }
                  Tensor delta = Tensor::empty_like(lse);
                  const auto tiles_at = detail::tiles_like(tiles, detail::by_source(relation).csr);
                  // o includes the edge term, so ⟨dO, O⟩ is all of Δ.
                  kernels::dot_attention_backward({.a = detail::by_target(relation),
                                                   .at = detail::by_source(relation),
                                                   .tiles = tiles.get(),
                                                   .tiles_at = tiles_at.get(),
                                                   .heads = heads,
                                                   .scale = scale,
                                                   .q = queries,
                                                   .k = detail::as_matrix(k.get()),
                                                   .v = detail::as_matrix(v.get()),
                                                   .attr = features,
                                                   .u = u,
                                                   .dropout = dropout,
                                                   .o = detail::as_matrix(o.get()),
                                                   .lse = lse,
                                                   .d_o = d_o,
                                                   .d_o_attr = d_o_attr,
                                                   .delta = delta,
                                                   .dq = dq_rows,
                                                   .dk = dk_rows,
                                                   .dv = dv_rows,
                                                   .ds = ds,
                                                   .dattr = dattr,
                                                   .du = du});
                  if (featured && wants_q)
                    kernels::head_product(
                        {.x = du, .weight = weight.get(), .heads = heads, .accumulate = true, .y = dq_rows});
                  if (dq) out.add(kQ, dq);
                  if (dk) out.add(kK, dk);
                  if (dv) out.add(kV, dv);
                  if (dattr) out.add(kEdgeAttr, dattr.to(attr.get().dtype()));
                  if (wants_weight) {
                    Tensor product = detail::product_of(du, queries, true);
                    detail::add_to(product, detail::product_of(o_attr, d_o, true));
                    Tensor dweight = Tensor::empty_like(weight.get());
                    kernels::diagonal_blocks({.product = product, .heads = heads, .weight = dweight});
                    out.add(kEdgeWeight, dweight);
                  }
                });
}

Var cosine_attention(const Relation& relation, const Var& x, const Var& beta,
                     const AttentionOptions& options) {
  constexpr const char* op = "cosine_attention";
  const OpScope scope(op, relation, x, beta);
  ADJ_CHECK(relation.num_src() == relation.num_dst(), "{}: {} sources and {} targets, expected one set", op,
            relation.num_src(), relation.num_dst());
  ADJ_CHECK(x && x.shape().dims() == 2 && x.size(0) == relation.num_dst() && x.size(1) >= 1,
            "{}: x is {}, expected [{}, F] with F at least 1", op, x ? x.shape().str() : "absent",
            relation.num_dst());
  ADJ_CHECK(x.device() == relation.device(), "{}: relation on {}, x on {}", op, relation.device().str(),
            x.device().str());
  detail::check_beside(op, "beta", beta, {1}, x);
  ADJ_CHECK(!options.edge_attr && !options.edge_weight, "{}: takes no edge features", op);
  if (relation.is_rank_part()) {  // queries and keys are directions of different rows
    const Var all = detail::halo_rows(relation, x);
    const auto as_head = [&](const Var& rows) { return reshape(rows, {rows.size(0), 1, x.size(1)}); };
    const Var y = dot_attention(relation.local_edges(), as_head(l2_normalize(x, kLeastNorm) * beta),
                                as_head(l2_normalize(all, kLeastNorm)), as_head(all), options, 1.0f);
    return reshape(y, x.shape());
  }
  if (!NoEdgeMask::in_force()) {
    const auto as_head = [&](const Var& rows) { return reshape(rows, {x.size(0), 1, x.size(1)}); };
    const Var direction = l2_normalize(x, kLeastNorm);
    const Var y =
        dot_attention(relation, as_head(direction * beta), as_head(direction), as_head(x), options, 1.0f);
    return reshape(y, x.shape());
  }
  const DType accumulator = accumulator_dtype(x.dtype());

  /// x_j = norm_j direction_j; the query is β direction_i.
  struct Directions {
    Tensor direction, scale, norm, query;

    Directions(const Tensor& x, const Tensor& beta, DType accumulator)
        : direction(Tensor::empty_like(x)),
          scale(Tensor::empty({x.size(0)}, accumulator, x.device())),
          norm(Tensor::empty({x.size(0), 1}, accumulator, x.device())),
          query(Tensor::empty_like(x)) {
      kernels::l2_normalize_rows({.x = x, .eps = kLeastNorm, .scale = scale, .y = direction});
      kernels::unary({.function = Unary::reciprocal, .x = scale.reshape({x.size(0), 1}), .y = norm});
      kernels::multiply_scalar({.a = direction, .s = beta.to(accumulator), .y = query});
    }
  };
  const kernels::AttentionDropout dropout = detail::attention_dropout(options);
  // Over CSR rows each edge gathers one row, times its norm; over tiles it gathers two, and x itself is used.
  const auto tiles = kernels::choose_attention_tiles(
      op, detail::by_target(relation).csr,
      {.heads = 1, .width = x.size(1), .gathered = 2, .features = x.dtype(), .drops = dropout.drops()});
  Tensor o = Tensor::empty_like(x.value()), o_attr, lse = detail::head_terms(x.size(0), 1, x.value());
  {
    const Directions parts(x.value(), beta.value(), accumulator);
    record_dots(relation, parts.query, parts.direction, 1, 1.0f);
    kernels::dot_attention({.a = detail::by_target(relation),
                            .tiles = tiles.get(),
                            .heads = 1,
                            .scale = 1.0f,
                            .q = parts.query,
                            .k = parts.direction,
                            .v = tiles ? x.value() : Tensor(),
                            .s = tiles ? Tensor() : parts.norm,
                            .dropout = dropout,
                            .o = o,
                            .o_attr = o_attr,
                            .lse = lse});
  }
  enum : size_t { kX, kBeta };
  return record(
      op, o, {x, beta},
      [relation, tiles, dropout, accumulator, x = Saved(x.value()), beta = Saved(beta.value()), lse,
       o = Saved(o)](Tensor dy, Gradients& out) {
        const Directions parts(x.get(), beta.get(), accumulator);
        const bool wants_x = out.wanted(kX);
        Tensor dq = Tensor::empty_like(x.get()), dk = detail::empty_if(wants_x, x.get());
        Tensor ds = detail::empty_if(wants_x && !tiles, parts.norm),
               dv = detail::empty_if(wants_x && tiles, x.get());
        Tensor delta = Tensor::empty_like(lse), none;
        const auto tiles_at = detail::tiles_like(tiles, detail::by_source(relation).csr);
        kernels::dot_attention_backward({.a = detail::by_target(relation),
                                         .at = detail::by_source(relation),
                                         .tiles = tiles.get(),
                                         .tiles_at = tiles_at.get(),
                                         .heads = 1,
                                         .scale = 1.0f,
                                         .q = parts.query,
                                         .k = parts.direction,
                                         .v = tiles ? x.get() : Tensor(),
                                         .s = tiles ? Tensor() : parts.norm,
                                         .dropout = dropout,
                                         .o = o.get(),
                                         .lse = lse,
                                         .d_o = dy,
                                         .delta = delta,
                                         .dq = dq,
                                         .dk = dk,
                                         .dv = dv,
                                         .ds = ds,
                                         .dattr = none,
                                         .du = none});
        if (out.wanted(kBeta)) {
          Tensor product = Tensor::empty_like(dq);
          kernels::binary({.op = Binary::multiply, .a = dq, .b = parts.direction, .y = product});
          Tensor dbeta = Tensor::empty({1}, accumulator, dq.device());
          kernels::sum_all({.x = product, .y = dbeta});
          out.add(kBeta, dbeta.to(beta.get().dtype()));
        }
        if (!wants_x) return;
        // The direction is the key and, times β, the query; over CSR rows also, times the norm, the
        // value; the norm's gradient is along the direction.
        kernels::multiply_scalar({.a = dq, .s = beta.get().to(accumulator), .y = dq});
        detail::add_to(dk, dq);
        kernels::l2_normalize_rows_backward(
            {.y = parts.direction, .eps = kLeastNorm, .scale = parts.scale, .dy = dk, .dx = dk});
        if (tiles) {
          detail::add_to(dk, dv);
        } else {
          kernels::scale_rows({.x = parts.direction, .s = ds.reshape({ds.size(0)}).to(dk.dtype()), .y = dq});
          detail::add_to(dk, dq);
        }
        out.add(kX, dk);
      });
}

}  // namespace adj
