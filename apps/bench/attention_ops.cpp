#include "operands.h"
#include <adjoint/kernels/attention/dot_attention.h>
#include <adjoint/kernels/attention/gat.h>
#include <adjoint/kernels/attention/gatv2.h>

#include <cmath>

namespace adj::apps {

namespace {

/// Attention over the graph's in-edges; the heads share the width.
struct Operands {
  Relation relation;
  int64_t heads;
  kernels::AttentionDropout dropout;
  std::shared_ptr<const RowTiles> tiles, tiles_at;  ///< null: by rows of CSR
  Tensor x, x_dst, value, att, l, r, d_o, o, lse, delta;
  Tensor dx, dx_dst, dvalue, datt, dl, dr, none;

  explicit Operands(const Subject& s)
      : relation(s.graph().relation()),
        heads(s.shared_heads()),
        x(random(s, {relation.num_src(), s.width}, s.dtype)),
        x_dst(random(s, {relation.num_dst(), s.width}, s.dtype)),
        value(random(s, x.shape(), s.dtype)),
        att(random(s, {heads, s.width / heads}, s.dtype)),
        l(random(s, {relation.num_dst(), heads})),
        r(random(s, {relation.num_src(), heads})),
        d_o(random(s, x_dst.shape(), s.dtype)),
        o(Tensor::empty_like(x_dst)),
        lse(Tensor::empty_like(l)),
        delta(Tensor::empty_like(l)),
        dx(Tensor::empty_like(x)),
        dx_dst(Tensor::empty_like(x_dst)),
        dvalue(Tensor::empty_like(x)),
        datt(Tensor::empty_like(att)),
        dl(Tensor::empty_like(l)),
        dr(Tensor::empty_like(r)) {
    if (s.attention_dropout > 0.0)
      dropout = {{1, 1, nullptr}, DropoutRule::of(static_cast<float>(s.attention_dropout))};
  }

  void cut(int64_t least) {
    tiles = kernels::row_tiles(relation.csr(), least);
    tiles_at = kernels::row_tiles(relation.transposed(), least);
  }
  CsrMatrix a() const { return {relation.csr(), {}, relation.csr_order()}; }
  CsrMatrix at() const { return {relation.transposed(), {}, relation.transposed_order()}; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(x.size(1) / heads)); }
  std::string shape() const {
    return fmt::format("{} x {} x {}, {} entries", relation.num_dst(), heads, x.size(1) / heads,
                       relation.num_edges());
  }
  /// Bytes of a pass over one side, with gathered feature rows (`rows`) and per-head numbers (`terms`) per
  /// entry.
  double pass(const Csr& csr, double rows, double terms, std::initializer_list<Tensor> operands) const {
    const double numbers = static_cast<double>(csr.entries()) * static_cast<double>(heads) * sizeof(float);
    return rows * gathered(csr, x) + terms * numbers + bytes_of({csr.offsets, csr.indices}) +
           bytes_of(operands);
  }
  double targets(double rows, double terms, std::initializer_list<Tensor> operands) const {
    return pass(relation.csr(), rows, terms, operands);
  }
  double sources(double rows, double terms, std::initializer_list<Tensor> operands) const {
    return pass(relation.transposed(), rows, terms, operands);
  }
};

void gat(Operands& t) {
  kernels::gat({.a = t.a(),
                .tiles = t.tiles.get(),
                .l = t.l,
                .r = t.r,
                .x = t.x,
                .slope = 0.2f,
                .dropout = t.dropout,
                .o = t.o,
                .lse = t.lse});
}
void gatv2(Operands& t) {
  kernels::gatv2({.a = t.a(),
                  .l = t.x_dst,
                  .r = t.x,
                  .att = t.att,
                  .slope = 0.2f,
                  .dropout = t.dropout,
                  .o = t.o,
                  .lse = t.lse});
}
void dot_attention(Operands& t) {
  kernels::dot_attention({.a = t.a(),
                          .tiles = t.tiles.get(),
                          .heads = t.heads,
                          .scale = t.scale(),
                          .q = t.x_dst,
                          .k = t.x,
                          .v = t.value,
                          .dropout = t.dropout,
                          .o = t.o,
                          .o_attr = t.none,
                          .lse = t.lse});
}

void gat_backward(Operands& t) {
  kernels::gat_backward({.a = t.a(),
                         .at = t.at(),
                         .tiles = t.tiles.get(),
                         .tiles_at = t.tiles_at.get(),
                         .l = t.l,
                         .r = t.r,
                         .x = t.x,
                         .slope = 0.2f,
                         .dropout = t.dropout,
                         .o = t.o,
                         .lse = t.lse,
                         .d_o = t.d_o,
                         .source = t.att,
                         .target = t.att,
                         .delta = t.delta,
                         .dl = t.dl,
                         .dr = t.dr,
                         .dx = t.dx,
                         .dc = t.none});
}
void gatv2_backward(Operands& t) {
  kernels::gatv2_backward({.a = t.a(),
                           .at = t.at(),
                           .l = t.x_dst,
                           .r = t.x,
                           .att = t.att,
                           .slope = 0.2f,
                           .dropout = t.dropout,
                           .o = t.o,
                           .lse = t.lse,
                           .d_o = t.d_o,
                           .delta = t.delta,
                           .dl = t.dx_dst,
                           .dr = t.dx,
                           .datt = t.datt,
                           .dattr = t.none,
                           .dw = t.none});
}
void dot_attention_backward(Operands& t) {
  kernels::dot_attention_backward({.a = t.a(),
                                   .at = t.at(),
                                   .tiles = t.tiles.get(),
                                   .tiles_at = t.tiles_at.get(),
                                   .heads = t.heads,
                                   .scale = t.scale(),
                                   .q = t.x_dst,
                                   .k = t.x,
                                   .v = t.value,
                                   .dropout = t.dropout,
                                   .o = t.o,
                                   .lse = t.lse,
                                   .d_o = t.d_o,
                                   .delta = t.delta,
                                   .dq = t.dx_dst,
                                   .dk = t.dx,
                                   .dv = t.dvalue,
                                   .ds = t.none,
                                   .dattr = t.none,
                                   .du = t.none});
}

double gat_bytes(const Operands& t) { return t.targets(1, 1, {t.l, t.o, t.lse}); }
double gatv2_bytes(const Operands& t) { return t.targets(1, 0, {t.x_dst, t.o, t.lse}); }
double dot_attention_bytes(const Operands& t) { return t.targets(2, 0, {t.x_dst, t.o, t.lse}); }
double gat_backward_bytes(const Operands& t) {
  return t.targets(1, 1, {t.o, t.d_o, t.lse, t.delta, t.l, t.dl}) +
         t.sources(1, 3, {t.x, t.r, t.dr, t.dl, t.dx});
}
double gatv2_backward_bytes(const Operands& t) {
  return t.targets(1, 0, {t.o, t.d_o, t.lse, t.delta, t.x_dst, t.dx_dst}) + t.sources(2, 2, {t.x, t.dx});
}
double dot_attention_backward_bytes(const Operands& t) {
  return t.targets(2, 0, {t.o, t.d_o, t.lse, t.delta, t.x_dst, t.dx_dst}) +
         t.sources(2, 2, {t.x, t.value, t.dx, t.dvalue});
}

using Pass = void (*)(Operands&);

/// An op that runs `run`; a backward pass needs the results of the forward pass `before`.
Op op(const char* name, const char* summary, Pass run, double (*bytes)(const Operands&),
      bool over_tiles = false, Pass before = nullptr) {
  return {name, summary, [=](const Subject& s) {
            auto t = std::make_shared<Operands>(s);
            if (over_tiles) t->cut(s.least);
            if (before != nullptr) before(*t);
            return Job{t->shape(), bytes(*t), 0.0, [=] { run(*t); }};
          }};
}

}  // namespace

std::vector<Op> attention_ops() {
  return {
      op("gat", "coefficients and their weighted sum, per head", gat, gat_bytes),
      op("gat_backward", "its backward pass, full gradient of x", gat_backward, gat_backward_bytes, false,
         gat),
      op("tile_gat", "the same, with tensor-core tiles", gat, gat_bytes, true),
      op("tile_gat_backward", "its backward pass", gat_backward, gat_backward_bytes, true, gat),
      op("gatv2", "coefficients and their weighted sum, per head", gatv2, gatv2_bytes),
      op("gatv2_backward", "its backward pass, both sides and att", gatv2_backward, gatv2_backward_bytes,
         false, gatv2),
      op("dot_attention", "attention of the graph transformer, with keys and values", dot_attention,
         dot_attention_bytes),
      op("dot_attention_backward", "its backward pass: queries, keys and values", dot_attention_backward,
         dot_attention_backward_bytes, false, dot_attention),
      op("tile_dot_attention", "the same, with tensor-core tiles", dot_attention, dot_attention_bytes, true),
      op("tile_dot_attention_backward", "its backward pass", dot_attention_backward,
         dot_attention_backward_bytes, true, dot_attention)};
}

}  // namespace adj::apps
