#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/attention_weights.h>
#include <adjoint/autograd/detail/attention.h>
#include <adjoint/autograd/detail/edge_mask.h>
#include <adjoint/autograd/detail/epilogue.h>
#include <adjoint/autograd/detail/halo.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/index.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/attention/gat.h>
#include <adjoint/kernels/attention/gatv2.h>
#include <adjoint/kernels/attention/head_dot.h>

namespace adj {

namespace {

// O [N,H,D] + bias [H D] in a separate pass: bfloat16 would round the sum to the bias's magnitude, and the
// backward pass, which subtracts the bias again, would carry that error into every logit's gradient.
Var plus_bias(const Var& o, const Var& bias) {
  return reshape(reshape(o, {o.size(0), bias.size(0)}) + bias, o.shape());
}

// Edge features times their weight.
Var edge_product(const AttentionOptions& options, DType dtype) {
  return matmul(cast(options.edge_attr, dtype), cast(options.edge_weight, dtype));
}

// y[n,h] = ⟨x[n,h,:], a[h,:]⟩, x as a matrix [N, H D].
Tensor head_dots(const Tensor& rows, const Tensor& a) {
  Tensor y = detail::head_terms(rows.size(0), a.size(0), rows), none;
  kernels::head_dot({.x = rows, .a = a, .y = y, .y2 = none});
  return y;
}

// Its gradients, of which either may be absent.
void head_dots_backward(const Tensor& rows, const Tensor& a, const Tensor& dy, Tensor& dx, Tensor& da) {
  Tensor none;
  kernels::head_dot_backward({.x = rows, .a = a, .dy = dy, .dx = dx, .da = da, .da2 = none, .dbias = none});
}

}  // namespace

Var head_dot(const Var& x, const Var& a) {
  const OpScope scope("head_dot", x, a);
  ADJ_CHECK(x && x.shape().dims() == 3 && x.size(1) >= 1 && x.size(2) >= 1,
            "head_dot: x is {}, expected [N, H, D] with H and D at least 1", x ? x.shape().str() : "absent");
  detail::check_beside("head_dot", "a", a, {x.size(1), x.size(2)}, x);
  enum : size_t { kX, kA };
  return record("head_dot", head_dots(detail::as_matrix(x.value()), a.value()), {x, a},
                [x = Saved(x.value()), a = Saved(a.value())](Tensor dy, Gradients& out) {
                  Tensor dx = detail::empty_if(out.wanted(kX), x.get()), rows = detail::rows_of(dx);
                  Tensor da = detail::empty_if(out.wanted(kA), a.get());
                  head_dots_backward(detail::as_matrix(x.get()), a.get(), dy, rows, da);
                  if (dx) out.add(kX, dx);
                  if (da) out.add(kA, da);
                });
}

Var gat_attention(const Relation& relation, const Var& x, const Var& source, const Var& target, float slope,
                  const AttentionOptions& options, const Var& x_dst, const Var& bias) {
  constexpr const char* op = "gat_attention";
  const OpScope scope(op, relation, x, source, target, options.edge_attr, options.edge_weight, x_dst, bias);
  if (relation.is_rank_part())
    return gat_attention(relation.local_edges(), detail::halo_rows(relation, x), source, target, slope,
                         options, x_dst ? x_dst : x, bias);
  detail::check_heads(op, "x", relation, x, relation.num_src());
  const int64_t heads = x.size(1), width = x.size(2);
  detail::check_beside(op, "source", source, {heads, width}, x);
  detail::check_beside(op, "target", target, {heads, width}, x);
  ADJ_CHECK(x_dst || relation.num_src() == relation.num_dst(),
            "{}: {} sources and {} targets, expected x_dst in addition to x", op, relation.num_src(),
            relation.num_dst());
  if (x_dst) detail::check_beside(op, "x_dst", x_dst, {relation.num_dst(), heads, width}, x);
  if (bias) {
    detail::check_beside(op, "bias", bias, {heads * width}, x);
    if (x.dtype() == DType::bf16)
      return plus_bias(gat_attention(relation, x, source, target, slope, options, x_dst), bias);
  }
  detail::check_edge_features(op, relation, options, heads, x);
  if (const Var mask = detail::edge_mask(op, relation)) {
    detail::require_no_dropout(op, options);
    Var e = edge_add(relation, head_dot(x_dst ? x_dst : x, target), head_dot(x, source));
    if (options.edge_attr) e = e + edge_product(options, e.dtype());
    const Var o = detail::attend_masked(relation, leaky_relu(e, slope),
                                        index_select(x, relation.edge_index().src), mask);
    return bias ? plus_bias(o, bias) : o;
  }
  const bool one_set = !x_dst || x_dst.id() == x.id();
  const Tensor x_rows = detail::as_matrix(x.value());
  const DType accumulator = accumulator_dtype(x.dtype());

  Tensor r, l;
  if (one_set) {
    r = detail::head_terms(relation.num_src(), heads, x_rows);
    l = detail::head_terms(relation.num_dst(), heads, x_rows);
    kernels::head_dot({.x = x_rows, .a = source.value(), .a2 = target.value(), .y = r, .y2 = l});
  } else {
    r = head_dots(x_rows, source.value());
    l = head_dots(detail::as_matrix(x_dst.value()), target.value());
  }
  // The edge features' term of the logits, [M,H], made on demand.
  const auto edge_terms = [accumulator](const Tensor& attr, const Tensor& weight) {
    return attr ? detail::product_of(attr.to(accumulator), weight.to(accumulator)) : Tensor();
  };
  detail::record_attention(relation, heads, options.edge_attr.value_or_absent(),
                           [&](const detail::EdgePart& part) {
                             Var e = index_select(Var(r), part.src) + index_select(Var(l), part.dst);
                             if (part.attr) e = e + Var(edge_terms(part.attr, options.edge_weight.value()));
                             return leaky_relu(e, slope).value();
                           });
  const kernels::AttentionDropout dropout = detail::attention_dropout(options);
  const bool featured = static_cast<bool>(options.edge_attr);
  const auto tiles = kernels::choose_attention_tiles(op, detail::by_target(relation).csr,
                                                     {.heads = heads,
                                                      .width = width,
                                                      .gathered = 1,
                                                      .features = x.dtype(),
                                                      .drops = dropout.drops(),
                                                      .edge_features = featured});
  Tensor o = Tensor::empty({relation.num_dst(), heads, width}, x.dtype(), x.device());
  Tensor o_rows = detail::as_matrix(o);
  Tensor lse = detail::head_terms(relation.num_dst(), heads, x_rows);
  kernels::gat({.a = detail::by_target(relation),
                .tiles = tiles.get(),
                .l = l,
                .r = r,
                .c = edge_terms(options.edge_attr.value_or_absent(), options.edge_weight.value_or_absent()),
                .x = x_rows,
                .slope = slope,
                .dropout = dropout,
                .bias = bias.value_or_absent(),
                .o = o_rows,
                .lse = lse});

  enum : size_t { kX, kSource, kTarget, kEdgeAttr, kEdgeWeight, kXDst, kBias };
  return record(
      op, o, {x, source, target, options.edge_attr, options.edge_weight, x_dst, bias},
      [relation, tiles, slope, dropout, one_set, featured, accumulator, edge_terms, x = Saved(x.value()),
       source = Saved(source.value()), target = Saved(target.value()),
       x_dst = one_set ? Saved() : Saved(x_dst.value()),
       attr = featured ? Saved(options.edge_attr.value()) : Saved(),
       weight = featured ? Saved(options.edge_weight.value()) : Saved(), bias = Saved(bias.value_or_absent()),
       l, r, lse, o = Saved(o)](Tensor dy, Gradients& out) {
        const Tensor rows = detail::as_matrix(x.get()), d_o = detail::as_matrix(dy);
        // Fused with the vectors' gradients if both are needed.
        const bool sums_beside = one_set && out.wanted(kSource) && out.wanted(kTarget);
        Tensor dbias = detail::empty_if(sums_beside && out.wanted(kBias), bias.get());
        if (!dbias) detail::bias_gradient(d_o, kBias, out);
        const bool learns = out.wanted(kSource) || out.wanted(kTarget);
        const bool wants_x = out.wanted(kX), whole = one_set && wants_x;
        const bool wants_terms = wants_x || learns || out.wanted(kXDst);
        const Tensor c = featured ? edge_terms(attr.get(), weight.get()) : Tensor();
        Tensor dc =
            featured && (out.wanted(kEdgeAttr) || out.wanted(kEdgeWeight)) ? Tensor::empty_like(c) : Tensor();
        Tensor dl = detail::empty_if(wants_terms, l), dr = detail::empty_if(wants_terms, r);
        Tensor dx = detail::empty_if(wants_x, x.get()), dx_rows = detail::rows_of(dx);
        Tensor delta = Tensor::empty_like(lse), none;
        const auto tiles_at = detail::tiles_like(tiles, detail::by_source(relation).csr);
        kernels::gat_backward({.a = detail::by_target(relation),
                               .at = detail::by_source(relation),
                               .tiles = tiles.get(),
                               .tiles_at = tiles_at.get(),
                               .l = l,
                               .r = r,
                               .c = c,
                               .x = rows,
                               .slope = slope,
                               .dropout = dropout,
                               .bias = bias.get(),
                               .o = detail::as_matrix(o.get()),
                               .lse = lse,
                               .d_o = d_o,
                               .source = whole ? source.get() : Tensor(),
                               .target = whole ? target.get() : Tensor(),
                               .delta = delta,
                               .dl = dl,
                               .dr = dr,
                               .dx = dx_rows,
                               .dc = dc});
        Tensor dsource = detail::empty_if(out.wanted(kSource), source.get());
        Tensor dtarget = detail::empty_if(out.wanted(kTarget), target.get());
        if (one_set) {
          if (learns)
            kernels::head_dot_backward({.x = rows,
                                        .a = source.get(),
                                        .a2 = target.get(),
                                        .dy = dr,
                                        .dy2 = dl,
                                        .d_o = dbias ? d_o : Tensor(),
                                        .dx = none,
                                        .da = dsource,
                                        .da2 = dtarget,
                                        .dbias = dbias});
        } else {
          Tensor by_term = detail::empty_if(wants_x, rows);
          if (wants_x || dsource) head_dots_backward(rows, source.get(), dr, by_term, dsource);
          if (wants_x) detail::add_to(dx_rows, by_term);
          Tensor dx_dst = detail::empty_if(out.wanted(kXDst), x_dst.get()),
                 dst_rows = detail::rows_of(dx_dst);
          if (dx_dst || dtarget)
            head_dots_backward(detail::as_matrix(x_dst.get()), target.get(), dl, dst_rows, dtarget);
          if (dx_dst) out.add(kXDst, dx_dst);
        }
        if (dx) out.add(kX, dx);
        if (dsource) out.add(kSource, dsource);
        if (dtarget) out.add(kTarget, dtarget);
        if (dbias) out.add(kBias, dbias);
        if (out.wanted(kEdgeAttr))
          out.add(kEdgeAttr,
                  detail::product_of(dc, weight.get().to(accumulator), false, true).to(attr.get().dtype()));
        if (out.wanted(kEdgeWeight))
          out.add(kEdgeWeight,
                  detail::product_of(attr.get().to(accumulator), dc, true).to(weight.get().dtype()));
      });
}

Var gatv2_attention(const Relation& relation, const Var& x_dst, const Var& x_src, const Var& att, float slope,
                    const AttentionOptions& options, const Var& bias) {
  constexpr const char* op = "gatv2_attention";
  const OpScope scope(op, relation, x_dst, x_src, att, options.edge_attr, options.edge_weight, bias);
  if (relation.is_rank_part())
    return gatv2_attention(relation.local_edges(), x_dst, detail::halo_rows(relation, x_src), att, slope,
                           options, bias);
  detail::check_heads(op, "x_src", relation, x_src, relation.num_src());
  const int64_t heads = x_src.size(1), width = x_src.size(2);
  detail::check_beside(op, "x_dst", x_dst, {relation.num_dst(), heads, width}, x_src);
  detail::check_beside(op, "att", att, {heads, width}, x_src);
  if (bias) {
    detail::check_beside(op, "bias", bias, {heads * width}, x_src);
    if (x_src.dtype() == DType::bf16)
      return plus_bias(gatv2_attention(relation, x_dst, x_src, att, slope, options), bias);
  }
  detail::check_edge_features(op, relation, options, heads * width, x_src);
  if (const Var mask = detail::edge_mask(op, relation)) {
    detail::require_no_dropout(op, options);
    const auto [src, dst] = relation.edge_index();
    const Var sources = index_select(x_src, src);
    Var sum = sources + index_select(x_dst, dst);
    if (options.edge_attr) sum = sum + reshape(edge_product(options, sum.dtype()), sum.shape());
    const Var o = detail::attend_masked(relation, head_dot(leaky_relu(sum, slope), att), sources, mask);
    return bias ? plus_bias(o, bias) : o;
  }
  // Runs over CSR rows; throws if tiles are requested.
  (void)kernels::choose_attention_tiles(
      op, detail::by_target(relation).csr,
      {.heads = heads, .width = width, .gathered = 2, .features = x_src.dtype(), .gatv2 = true});
  const DType accumulator = accumulator_dtype(x_src.dtype());
  const bool featured = static_cast<bool>(options.edge_attr);
  detail::record_attention(
      relation, heads, options.edge_attr.value_or_absent(), [&](const detail::EdgePart& part) {
        Var sum = index_select(cast(Var(x_src.value()), DType::f32), part.src) +
                  index_select(cast(Var(x_dst.value()), DType::f32), part.dst);
        if (part.attr)
          sum = sum +
                Var(detail::product_of(part.attr.to(DType::f32), options.edge_weight.value().to(DType::f32))
                        .reshape(sum.shape()));
        return head_dot(leaky_relu(sum, slope), cast(Var(att.value()), DType::f32)).value();
      });
  const kernels::AttentionDropout dropout = detail::attention_dropout(options);
  Tensor o = Tensor::empty({relation.num_dst(), heads, width}, x_src.dtype(), x_src.device());
  Tensor o_rows = detail::as_matrix(o);
  Tensor lse = detail::head_terms(relation.num_dst(), heads, x_src.value());
  kernels::gatv2({.a = detail::by_target(relation),
                  .l = detail::as_matrix(x_dst.value()),
                  .r = detail::as_matrix(x_src.value()),
                  .att = att.value(),
                  .attr = featured ? options.edge_attr.value().to(accumulator) : Tensor(),
                  .w = options.edge_weight.value_or_absent(),
                  .slope = slope,
                  .dropout = dropout,
                  .bias = bias.value_or_absent(),
                  .o = o_rows,
                  .lse = lse});
  enum : size_t { kXDst, kXSrc, kAtt, kEdgeAttr, kEdgeWeight, kBias };
  return record(op, o, {x_dst, x_src, att, options.edge_attr, options.edge_weight, bias},
                [relation, slope, dropout, featured, accumulator, x_dst = Saved(x_dst.value()),
                 x_src = Saved(x_src.value()), att = Saved(att.value()),
                 attr = featured ? Saved(options.edge_attr.value()) : Saved(),
                 weight = featured ? Saved(options.edge_weight.value()) : Saved(),
                 bias = Saved(bias.value_or_absent()), lse, o = Saved(o)](Tensor dy, Gradients& out) {
                  detail::bias_gradient(detail::as_matrix(dy), kBias, out);
                  const Tensor features = featured ? attr.get().to(accumulator) : Tensor();
                  const Tensor w = featured ? weight.get() : Tensor();
                  Tensor dl = detail::empty_if(out.wanted(kXDst), x_dst.get()), dl_rows = detail::rows_of(dl);
                  Tensor dr = detail::empty_if(out.wanted(kXSrc), x_src.get()), dr_rows = detail::rows_of(dr);
                  Tensor datt = detail::empty_if(out.wanted(kAtt), att.get());
                  Tensor dattr = detail::empty_if(featured && out.wanted(kEdgeAttr), features);
                  Tensor dw = detail::empty_if(featured && out.wanted(kEdgeWeight), w);
                  Tensor delta = Tensor::empty_like(lse);
                  kernels::gatv2_backward({.a = detail::by_target(relation),
                                           .at = detail::by_source(relation),
                                           .l = detail::as_matrix(x_dst.get()),
                                           .r = detail::as_matrix(x_src.get()),
                                           .att = att.get(),
                                           .attr = features,
                                           .w = w,
                                           .slope = slope,
                                           .dropout = dropout,
                                           .bias = bias.get(),
                                           .o = detail::as_matrix(o.get()),
                                           .lse = lse,
                                           .d_o = detail::as_matrix(dy),
                                           .delta = delta,
                                           .dl = dl_rows,
                                           .dr = dr_rows,
                                           .datt = datt,
                                           .dattr = dattr,
                                           .dw = dw});
                  if (dl) out.add(kXDst, dl);
                  if (dr) out.add(kXSrc, dr);
                  if (datt) out.add(kAtt, datt);
                  if (dattr) out.add(kEdgeAttr, dattr.to(attr.get().dtype()));
                  if (dw) out.add(kEdgeWeight, dw);
                });
}

}  // namespace adj
