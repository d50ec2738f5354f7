#include "../../bench/ops/attention.h"
#include "operands.h"

namespace adj::apps {

namespace {

using ops::AttentionCall, ops::DotCall, ops::GatCall, ops::Gatv2Call, ops::GradientMap;

/// Bytes of a pass over one side, with gathered feature rows (`rows`) and numbers per head (`terms`) per
/// entry.
double pass(const AttentionCall& t, const Csr& csr, double rows, double terms,
            std::initializer_list<Tensor> operands) {
  const double numbers = terms * static_cast<double>(t.heads) * sizeof(float),
               row = static_cast<double>(t.heads * t.width) * static_cast<double>(size_of(t.dtype));
  return static_cast<double>(csr.entries()) * (rows * row + numbers) + bytes_of({csr.offsets, csr.indices}) +
         bytes_of(operands);
}

double forward_bytes(const GatCall& t) { return pass(t, t.links.csr, 1, 1, {t.l, t.o, t.lse}); }
double forward_bytes(const Gatv2Call& t) { return pass(t, t.links.csr, 1, 0, {t.l, t.o, t.lse}); }
double forward_bytes(const DotCall& t) { return pass(t, t.links.csr, 2, 0, {t.q, t.o, t.lse}); }

double backward_bytes(const GatCall& t, GradientMap& g) {
  return pass(t, t.links.csr, 1, 1, {t.o, t.d_o, t.lse, t.delta, t.l, g['l']}) +
         pass(t, t.links.transposed, 1, 3, {t.x, t.r, g['r'], g['l'], g['x']});
}
double backward_bytes(const Gatv2Call& t, GradientMap& g) {
  return pass(t, t.links.csr, 1, 0, {t.o, t.d_o, t.lse, t.delta, t.l, g['l']}) +
         pass(t, t.links.transposed, 2, 2, {t.r, g['r']});
}
double backward_bytes(const DotCall& t, GradientMap& g) {
  return pass(t, t.links.csr, 2, 0, {t.o, t.d_o, t.lse, t.delta, t.q, g['q']}) +
         pass(t, t.links.transposed, 2, 2, {t.k, t.v, g['k'], g['v']});
}

/// Attention over the graph's in-edges, whose heads share the width; or its gradients of the operands
/// `wanted`.
template <class Call>
Job prepare(const Subject& s, const std::string& wanted, bool over_tiles) {
  struct Prepared {
    Call call;
    GradientMap gradients = {};
    std::shared_ptr<const RowTiles> tiles = {}, tiles_at = {};
  };
  const Relation& relation = s.graph().relation();
  const int64_t heads = s.shared_heads(), width = s.width / heads;
  auto p = std::make_shared<Prepared>(
      Call({relation.csr(), relation.transposed(), relation.csr_order(), relation.transposed_order()},
           {heads, width, 0, false}, s.dtype));
  Call& t = p->call;
  if (s.attention_dropout > 0.0)
    t.dropout = {{1, 1, nullptr}, dropout_rule(static_cast<float>(s.attention_dropout))};
  if constexpr (std::is_same_v<Call, GatCall>) t.source = t.target = random(s, {heads, width}, s.dtype);
  if constexpr (!std::is_same_v<Call, Gatv2Call>)
    if (over_tiles) {
      t.tiles = (p->tiles = kernels::row_tiles(relation.csr(), s.least)).get();
      t.tiles_at = (p->tiles_at = kernels::row_tiles(relation.transposed(), s.least)).get();
    }
  Job job{fmt::format("{} x {} x {}, {} entries", t.rows(), heads, width, t.count()), forward_bytes(t), 0.0,
          [p] { p->call.forward(); }};
  if (wanted.empty()) return job;
  job.run();
  p->gradients = t.room(wanted);
  job.bytes = backward_bytes(t, p->gradients);
  job.run = [p] { p->call.backward(p->gradients); };
  return job;
}

template <class Call>
Op op(const char* name, const char* summary, const std::string& wanted = "", bool over_tiles = false) {
  return {name, summary, [=](const Subject& s) { return prepare<Call>(s, wanted, over_tiles); }};
}

}  // namespace

std::vector<Op> attention_ops() {
  return {
      op<GatCall>("gat", "coefficients and their weighted sum, per head"),
      op<GatCall>("gat_backward", "its backward pass, full gradient of x", "lrx"),
      op<GatCall>("tile_gat", "the same, with tensor-core tiles", "", true),
      op<GatCall>("tile_gat_backward", "its backward pass", "lrx", true),
      op<Gatv2Call>("gatv2", "coefficients and their weighted sum, per head"),
      op<Gatv2Call>("gatv2_backward", "its backward pass, both sides and att", "lrt"),
      op<DotCall>("dot_attention", "attention of the graph transformer, with keys and values"),
      op<DotCall>("dot_attention_backward", "its backward pass: queries, keys and values", "qkv"),
      op<DotCall>("tile_dot_attention", "the same, with tensor-core tiles", "", true),
      op<DotCall>("tile_dot_attention_backward", "its backward pass", "qkv", true),
  };
}

}  // namespace adj::apps
