#pragma once

#include "attention_cases.h"
#include <adjoint/kernels/attention/dot_attention.h>
#include <adjoint/kernels/attention/gat.h>
#include <adjoint/kernels/attention/gatv2.h>

#include <map>

// The attention kernels with random operands, and shared checks.
namespace adj::test {

using GradientMap = std::map<char, Tensor>;

struct AttentionCall {
  const Edges& edges;
  int64_t heads, width, features;
  DType dtype, accumulator;
  Device device;
  kernels::AttentionDropout dropout;
  kernels::AttentionGradient gradient;
  const RowTiles *tiles = nullptr, *tiles_at = nullptr;
  Tensor d_o, o, lse;

  AttentionCall(const Edges& structure, const AttentionCase& shape, DType type, Device placement)
      : edges(structure),
        heads(shape.heads),
        width(shape.width),
        features(shape.features),
        dtype(type),
        accumulator(accumulator_dtype(type)),
        device(placement),
        dropout(attention_dropout(shape.dropout)),
        gradient(shape.gradient),
        d_o(random(structure.rows(), heads * width, type)) {
    make_outputs();
  }
  Tensor random(int64_t rows, int64_t columns, DType type) const {
    return random_tensor({rows, columns}, type, device);
  }
  void make_outputs() {
    o = Tensor::full(d_o.shape(), NAN, dtype, device);
    lse = Tensor::full({edges.rows(), heads}, NAN, accumulator, device);
  }

 protected:
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

  GatCall(const Edges& structure, const AttentionCase& shape, DType type, Device placement)
      : AttentionCall(structure, shape, type, placement),
        l(random(structure.rows(), heads, accumulator)),
        r(random(structure.cols(), heads, accumulator)),
        x(random(structure.cols(), heads * width, type)) {
    if (features > 0) c = random(structure.count(), heads, accumulator);
    if (shape.dropout && type != DType::bf16) bias = random_tensor({heads * width}, type, placement);
  }
  void to_float64() { AttentionCall::to_float64({&d_o, &l, &r, &c, &x, &bias, &source, &target}); }
  void forward() {
    kernels::gat({.a = edges.a(),
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
  GradientMap backward(std::string_view wanted = "lrxc") const {
    GradientMap g = room({{'l', l}, {'r', r}, {'x', x}, {'c', c}}, wanted);
    Tensor delta = Tensor::full(lse.shape(), NAN, accumulator, device);
    kernels::gat_backward({.a = edges.a(),
                           .at = edges.at(),
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
    return g;
  }
};

struct Gatv2Call : AttentionCall {
  static constexpr float kSlope = 0.2f;
  Tensor l, r, att, attr, w, bias;

  Gatv2Call(const Edges& structure, const AttentionCase& shape, DType type, Device placement)
      : AttentionCall(structure, shape, type, placement),
        l(random(structure.rows(), heads * width, type)),
        r(random(structure.cols(), heads * width, type)),
        att(scaled_random({heads, width}, 1.0 / std::sqrt(static_cast<double>(width)), type, placement)) {
    if (features > 0) {
      attr = random(structure.count(), features, accumulator);
      w = scaled_random({features, heads * width}, 1.0 / std::sqrt(static_cast<double>(features)), type,
                        placement);
    }
    if (shape.dropout && type != DType::bf16) bias = random_tensor({heads * width}, type, placement);
  }
  void forward() {
    kernels::gatv2({.a = edges.a(),
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
  GradientMap backward(std::string_view wanted = "lrtaw") const {
    GradientMap g = room({{'l', l}, {'r', r}, {'t', att}, {'a', attr}, {'w', w}}, wanted);
    Tensor delta = Tensor::full(lse.shape(), NAN, accumulator, device);
    kernels::gatv2_backward({.a = edges.a(),
                             .at = edges.at(),
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
    return g;
  }
};

/// Source of the values: v, the keys, or the keys each times its s.
enum class Values : uint8_t { v, keys, scaled_keys };

struct DotCall : AttentionCall {
  float scale;
  Tensor q, k, v, s, attr, u, d_o_attr, o_attr;

  DotCall(const Edges& structure, const AttentionCase& shape, DType type, Device placement,
          Values kind = Values::v)
      : AttentionCall(structure, shape, type, placement),
        scale(1.0f / std::sqrt(static_cast<float>(width))),
        q(random(structure.rows(), heads * width, type)),
        k(random(structure.cols(), heads * width, type)) {
    if (kind == Values::v) v = random(structure.cols(), heads * width, type);
    if (kind == Values::scaled_keys) s = random(structure.cols(), heads, accumulator);
    if (features == 0) return;
    attr = random(structure.count(), features, accumulator);
    u = random(structure.rows(), heads * features, type);
    d_o_attr = random(structure.rows(), heads * features, type);
    o_attr = Tensor::full(u.shape(), NAN, type, placement);
  }
  void to_float64() { AttentionCall::to_float64({&d_o, &q, &k, &v}); }
  void forward() {
    kernels::dot_attention({.a = edges.a(),
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
  GradientMap backward(std::string_view wanted = "qkvsau") const {
    GradientMap g = room({{'q', q}, {'k', k}, {'v', v}, {'s', s}, {'a', attr}, {'u', u}}, wanted);
    Tensor delta = Tensor::full(lse.shape(), NAN, accumulator, device);
    kernels::dot_attention_backward({.a = edges.a(),
                                     .at = edges.at(),
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
    return g;
  }
};

inline double slope_at(double z) { return z > 0.0 ? 1.0 : static_cast<double>(GatCall::kSlope); }

/// Shapes for attention with edge features.
inline const std::vector<AttentionCase> kWideShapes{
    {1, 1, 0, false},   {8, 1, 0, true},     {3, 3, 3, true},  {8, 8, 0, true},   {8, 8, 8, false},
    {2, 33, 0, false},  {5, 7, 1, true},     {4, 16, 0, true}, {1, 64, 17, true}, {6, 128, 0, true},
    {2, 256, 3, false}, {1, 1024, 0, false}, {4, 64, 0, true}, {7, 20, 1, true}};
inline const std::vector<AttentionCase> kFewShapes{
    {8, 8, 0, true}, {4, 16, 3, false}, {1, 7, 0, true}, {3, 5, 1, true}};

/// Checks that O and each gradient of `names` have the same bits on any number of threads, and computed alone
/// or together.
template <class Call>
void check_same_gradients(Call& t, const std::string& names) {
  CHECK(same_bits_on_any_threads([&] {
    t.forward();
    return t.o.clone();
  }));
  for (char name : names) {
    CAPTURE(name);
    const Tensor all = t.backward(names).at(name);
    CHECK(same_bits(t.backward(std::string(1, name)).at(name), all));
    CHECK(same_bits_on_any_threads([&] { return t.backward(names).at(name); }));
  }
}

/// x times `factor`, with `bad` at each of `places`.
inline Tensor spoilt(const Tensor& x, double factor, std::initializer_list<size_t> places, double bad = NAN) {
  Numbers numbers = values(x);
  for (double& number : numbers) number *= factor;
  for (size_t k : places) numbers.at(k) = bad;
  return Tensor::from(numbers, x.shape()).to(x.dtype()).to(x.device());
}
inline bool of_target_4_head_1(size_t k) { return k / 15 == 4 && k % 15 / 5 == 1; }

/// Three heads of width 5, large operands, and a NaN in head 1 of target 4: it reaches O, the gradient of
/// that target (`of_target`) and those of its sources (`of_source`), in that head only. Returns all
/// gradients.
template <class Call>
GradientMap check_nan_of_target(Call t, Tensor Call::*target, Tensor Call::*source, double factor,
                                char of_target, char of_source) {
  t.*target = spoilt(t.*target, factor, {4 * 15 + 7});
  t.*source = spoilt(t.*source, factor, {});
  t.forward();
  check_nan(t.o, of_target_4_head_1);
  const GradientMap g = t.backward();
  check_nan(g.at(of_target), of_target_4_head_1);
  std::vector<bool> reached(61);
  t.edges.each([&](size_t i, size_t j, size_t) { reached[j] = reached[j] || i == 4; });
  check_nan(g.at(of_source), [&](size_t k) { return reached[k / 15] && k % 15 / 5 == 1; });
  return g;
}

/// Compares the gradient of l with a bias of 1000 to that without: they may differ only by O's rounding.
template <class Call>
void check_large_bias() {
  for (Device device : devices())
    for (int64_t width : {8, 64, 200}) {
      CAPTURE(width);
      const Edges edges(symmetric_rows(), 61, false, device);
      Call t(edges, {3, width, 0, false}, DType::f32, device);
      const auto gradient = [&] {
        t.forward();
        return values(t.backward("l").at('l'));
      };
      const Numbers dl = gradient();
      t.bias = Tensor::full({3 * width}, 1000.0, DType::f32, device);
      const Numbers with_bias = gradient(), dO = values(t.d_o);
      const auto D = uz(width), per_head = dl.size() / (61 * 3);
      for (size_t k = 0; k < dl.size(); ++k) {
        double sizes = 0;  // Σ |d_o|
        for (size_t f = 0; f < D; ++f) sizes += std::abs(dO[k / per_head * D + f]);
        // Half a unit in the last place of 1000, times the factor of a logit's gradient.
        REQUIRE(std::abs(with_bias[k] - dl[k]) <= 0x1p-15 * sizes + 3e-5);
      }
    }
}

}  // namespace adj::test
