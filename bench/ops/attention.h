#pragma once

#include "op.h"
#include <adjoint/kernels/attention/dot_attention.h>
#include <adjoint/kernels/attention/gat.h>
#include <adjoint/kernels/attention/gatv2.h>

#include <cmath>
#include <map>

// The attention kernels with random operands, for their tests and for the benchmark.
namespace adj::ops {

struct AttentionCase {
  int64_t heads, width, features;  ///< head width; edge feature width, 0: none
  bool dropout;
  kernels::AttentionGradient gradient = kernels::AttentionGradient::by_size;
};

using GradientMap = std::map<char, Tensor>;

/// Operands and outputs; gradients by the letter of their operand.
struct AttentionCall {
  Links links;
  int64_t heads, width, features;
  DType dtype, accumulator;
  kernels::AttentionDropout dropout;
  kernels::AttentionGradient gradient;
  const RowTiles *tiles = nullptr, *tiles_at = nullptr;
  Tensor d_o, o, lse, delta;

  AttentionCall(const Links& structure, const AttentionCase& shape, DType type)
      : links(structure),
        heads(shape.heads),
        width(shape.width),
        features(shape.features),
        dtype(type),
        accumulator(accumulator_dtype(type)),
        gradient(shape.gradient),
        d_o(random(rows(), heads * width, type)) {
    if (shape.dropout) dropout = {{.seed = 11, .stream = 3}, dropout_rule(0.3f)};
    make_outputs();
  }
  int64_t rows() const { return links.rows(); }
  int64_t cols() const { return links.cols(); }
  int64_t count() const { return links.entries(); }
  void make_outputs() {
    o = Tensor::full(d_o.shape(), NAN, dtype, d_o.device());
    lse = Tensor::full({rows(), heads}, NAN, accumulator, d_o.device());
    delta = lse.clone();
  }

 protected:
  Tensor random(int64_t n, int64_t columns, DType type, double factor = 1.0) const {
    const DType drawn = type == DType::bf16 ? DType::f32 : type;
    return random_normal({n, columns}, 0.0, factor, default_generator(), drawn)
        .to(type)
        .to(links.csr.device());
  }
  /// A bias if there is dropout, but not in bfloat16.
  Tensor bias_with_dropout(const AttentionCase& shape) const {
    return shape.dropout && dtype != DType::bf16 ? random(1, heads * width, dtype).reshape({heads * width})
                                                 : Tensor();
  }
  /// Tensors for the gradients of the present operands named by `wanted`.
  static GradientMap room(GradientMap operands, std::string_view wanted) {
    for (auto& [name, x] : operands)
      x = x && wanted.find(name) != std::string_view::npos
              ? Tensor::full(x.shape(), NAN, x.dtype(), x.device())
              : Tensor();
    return operands;
  }
  /// The same call in float64.
  void to_float64(std::initializer_list<Tensor*> operands) {
    dtype = accumulator = DType::f64;
    for (Tensor* x : operands)
      if (*x) *x = x->to(dtype);
    make_outputs();
  }
};

struct GatCall : AttentionCall {
  static constexpr float kSlope = 0.2f;
  Tensor l, r, c, x, bias, source, target;  ///< the whole gradient of x if source and target are given

  GatCall(const Links& structure, const AttentionCase& shape, DType type)
      : AttentionCall(structure, shape, type),
        l(random(rows(), heads, accumulator)),
        r(random(cols(), heads, accumulator)),
        x(random(cols(), heads * width, type)) {
    if (features > 0) c = random(count(), heads, accumulator);
    bias = bias_with_dropout(shape);
  }
  void to_float64() { AttentionCall::to_float64({&d_o, &l, &r, &c, &x, &bias, &source, &target}); }
  void forward() {
    kernels::gat({.a = links.a(),
                  .tiles = tiles,
                  .l = l,
                  .r = r,
                  .c = c,
                  .x = x,
                  .slope = kSlope,
                  .dropout = dropout,
                  .bias = bias,
                  .o = o,
                  .lse = lse});
  }
  GradientMap room(std::string_view wanted) const {
    return AttentionCall::room({{'l', l}, {'r', r}, {'x', x}, {'c', c}}, wanted);
  }
  GradientMap backward(std::string_view wanted = "lrxc") {
    GradientMap g = room(wanted);
    backward(g);
    return g;
  }
  void backward(GradientMap& g) {
    kernels::gat_backward({.a = links.a(),
                           .at = links.at(),
                           .tiles = tiles,
                           .tiles_at = tiles_at,
                           .l = l,
                           .r = r,
                           .c = c,
                           .x = x,
                           .slope = kSlope,
                           .dropout = dropout,
                           .bias = bias,
                           .o = o,
                           .lse = lse,
                           .d_o = d_o,
                           .source = source,
                           .target = target,
                           .delta = delta,
                           .dl = g['l'],
                           .dr = g['r'],
                           .dx = g['x'],
                           .dc = g['c']});
  }
};

struct Gatv2Call : AttentionCall {
  static constexpr float kSlope = 0.2f;
  Tensor l, r, att, attr, w, bias;

  Gatv2Call(const Links& structure, const AttentionCase& shape, DType type)
      : AttentionCall(structure, shape, type),
        l(random(rows(), heads * width, type)),
        r(random(cols(), heads * width, type)),
        att(random(heads, width, type, 1.0 / std::sqrt(static_cast<double>(width)))) {
    if (features > 0) {
      attr = random(count(), features, accumulator);
      w = random(features, heads * width, type, 1.0 / std::sqrt(static_cast<double>(features)));
    }
    bias = bias_with_dropout(shape);
  }
  void forward() {
    kernels::gatv2({.a = links.a(),
                    .l = l,
                    .r = r,
                    .att = att,
                    .attr = attr,
                    .w = w,
                    .slope = kSlope,
                    .dropout = dropout,
                    .bias = bias,
                    .o = o,
                    .lse = lse});
  }
  GradientMap room(std::string_view wanted) const {
    return AttentionCall::room({{'l', l}, {'r', r}, {'t', att}, {'a', attr}, {'w', w}}, wanted);
  }
  GradientMap backward(std::string_view wanted = "lrtaw") {
    GradientMap g = room(wanted);
    backward(g);
    return g;
  }
  void backward(GradientMap& g) {
    kernels::gatv2_backward({.a = links.a(),
                             .at = links.at(),
                             .l = l,
                             .r = r,
                             .att = att,
                             .attr = attr,
                             .w = w,
                             .slope = kSlope,
                             .dropout = dropout,
                             .gradient = gradient,
                             .bias = bias,
                             .o = o,
                             .lse = lse,
                             .d_o = d_o,
                             .delta = delta,
                             .dl = g['l'],
                             .dr = g['r'],
                             .datt = g['t'],
                             .dattr = g['a'],
                             .dw = g['w']});
  }
};

/// Source of the values: v, the keys, or the keys each times its s.
enum class Values : uint8_t { v, keys, scaled_keys };

struct DotCall : AttentionCall {
  float scale;
  Tensor q, k, v, s, attr, u, d_o_attr, o_attr;

  DotCall(const Links& structure, const AttentionCase& shape, DType type, Values kind = Values::v)
      : AttentionCall(structure, shape, type),
        scale(1.0f / std::sqrt(static_cast<float>(width))),
        q(random(rows(), heads * width, type)),
        k(random(cols(), heads * width, type)) {
    if (kind == Values::v) v = random(cols(), heads * width, type);
    if (kind == Values::scaled_keys) s = random(cols(), heads, accumulator);
    if (features == 0) return;
    attr = random(count(), features, accumulator);
    u = random(rows(), heads * features, type);
    d_o_attr = random(rows(), heads * features, type);
    o_attr = Tensor::full(u.shape(), NAN, type, u.device());
  }
  void to_float64() { AttentionCall::to_float64({&d_o, &q, &k, &v}); }
  void forward() {
    kernels::dot_attention({.a = links.a(),
                            .tiles = tiles,
                            .heads = heads,
                            .scale = scale,
                            .q = q,
                            .k = k,
                            .v = v,
                            .s = s,
                            .attr = attr,
                            .u = u,
                            .dropout = dropout,
                            .o = o,
                            .o_attr = o_attr,
                            .lse = lse});
  }
  GradientMap room(std::string_view wanted) const {
    return AttentionCall::room({{'q', q}, {'k', k}, {'v', v}, {'s', s}, {'a', attr}, {'u', u}}, wanted);
  }
  GradientMap backward(std::string_view wanted = "qkvsau") {
    GradientMap g = room(wanted);
    backward(g);
    return g;
  }
  void backward(GradientMap& g) {
    kernels::dot_attention_backward({.a = links.a(),
                                     .at = links.at(),
                                     .tiles = tiles,
                                     .tiles_at = tiles_at,
                                     .heads = heads,
                                     .scale = scale,
                                     .q = q,
                                     .k = k,
                                     .v = v,
                                     .s = s,
                                     .attr = attr,
                                     .u = u,
                                     .dropout = dropout,
                                     .gradient = gradient,
                                     .o = o,
                                     .o_attr = o_attr,
                                     .lse = lse,
                                     .d_o = d_o,
                                     .d_o_attr = d_o_attr,
                                     .delta = delta,
                                     .dq = g['q'],
                                     .dk = g['k'],
                                     .dv = g['v'],
                                     .ds = g['s'],
                                     .dattr = g['a'],
                                     .du = g['u']});
  }
};

}  // namespace adj::ops
