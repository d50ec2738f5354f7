#include "attention_cases.h"
#include <adjoint/kernels/attention/gatv2.h>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<AttentionCase> kWide{
    {1, 1, 0, false},   {8, 1, 0, true},     {3, 3, 3, true},  {8, 8, 0, true},   {8, 8, 8, false},
    {2, 33, 0, false},  {5, 7, 1, true},     {4, 16, 0, true}, {1, 64, 17, true}, {6, 128, 0, true},
    {2, 256, 3, false}, {1, 1024, 0, false}, {4, 64, 0, true}, {7, 20, 1, true}};
const std::vector<AttentionCase> kFew{{8, 8, 0, true}, {4, 16, 3, false}, {1, 7, 0, true}, {3, 5, 1, true}};

struct Case {
  static constexpr float kSlope = 0.2f;
  const Edges& edges;
  int64_t heads, width, features;
  DType dtype, accumulator;
  kernels::AttentionDropout dropout;
  kernels::AttentionGradient gradient;
  Tensor l, r, att, attr, w, bias, d_o, o, lse;

  Case(const Edges& of, const AttentionCase& shape, DType type, Device device)
      : edges(of),
        heads(shape.heads),
        width(shape.width),
        features(shape.features),
        dtype(type),
        accumulator(accumulator_dtype(type)),
        dropout(attention_dropout(shape.dropout)),
        gradient(shape.gradient),
        l(random_tensor({of.rows(), heads * width}, type, device)),
        r(random_tensor({of.cols(), heads * width}, type, device)),
        att(scaled_random({heads, width}, 1.0 / std::sqrt(static_cast<double>(width)), type, device)),
        attr(features > 0 ? random_tensor({of.count(), features}, accumulator, device) : Tensor()),
        w(features > 0 ? scaled_random({features, heads * width},
                                       1.0 / std::sqrt(static_cast<double>(features)), type, device)
                       : Tensor()),
        bias(shape.dropout && type != DType::bf16 ? random_tensor({heads * width}, type, device) : Tensor()),
        d_o(random_tensor({of.rows(), heads * width}, type, device)),
        o(random_tensor({of.rows(), heads * width}, type, device)),
        lse(random_tensor({of.rows(), heads}, accumulator, device)) {}

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
  struct Gradients {
    Tensor dl, dr, datt, dattr, dw;
  };
  Gradients backward(bool want_l, bool want_r, bool want_att, bool want_attr, bool want_w) const {
    const Device device = l.device();
    Gradients g;
    if (want_l) g.dl = random_tensor(l.shape(), dtype, device);
    if (want_r) g.dr = random_tensor(r.shape(), dtype, device);
    if (want_att) g.datt = random_tensor(att.shape(), dtype, device);
    if (want_attr) g.dattr = random_tensor(attr.shape(), accumulator, device);
    if (want_w) g.dw = random_tensor(w.shape(), dtype, device);
    Tensor delta = random_tensor(lse.shape(), accumulator, device);
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
                             .dl = g.dl,
                             .dr = g.dr,
                             .datt = g.datt,
                             .dattr = g.dattr,
                             .dw = g.dw});
    return g;
  }
};

double slope_at(double z) { return z > 0.0 ? 1.0 : static_cast<double>(Case::kSlope); }

void compare(const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
  Case t(edges, shape, dtype, device);
  const auto H = static_cast<size_t>(t.heads), D = static_cast<size_t>(t.width),
             E = static_cast<size_t>(t.features), F = H * D;
  const double allowed = attention_tolerance(dtype, t.width);
  const Numbers L = values(t.l), R = values(t.r), A = values(t.att), dO = values(t.d_o);
  const Numbers attr = E > 0 ? values(t.attr) : Numbers(), W = E > 0 ? values(t.w) : Numbers();
  const auto z = [&](size_t i, size_t j, size_t k, size_t f) {
    double sum = L[i * F + f] + R[j * F + f];
    for (size_t c = 0; c < E; ++c) sum += attr[k * E + c] * W[c * F + f];
    return sum;
  };
  Numbers e(static_cast<size_t>(edges.count()) * H);
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t f = 0; f < F; ++f) {
      const double sum = z(i, j, k, f);
      e[k * H + f / D] += A[f] * sum * slope_at(sum);
    }
  });
  const auto value = [&](size_t j, size_t, size_t h, size_t c) { return R[(j * H + h) * D + c]; };
  const PlainAttention plain(edges, H, D, e, mask_of(t.dropout, edges.count(), t.heads), value);
  t.forward();
  CHECK(close(t.o, with_bias(plain.o, t.bias), allowed));

  const Numbers de = plain.backward(dO, value);
  Numbers dl(L.size()), dr = plain.value_gradients(dO, D), datt(F), dattr(attr.size()), dw(W.size());
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t f = 0; f < F; ++f) {
      const double sum = z(i, j, k, f), slope = slope_at(sum);
      const double dz = de[k * H + f / D] * A[f] * slope;
      dl[i * F + f] += dz;
      dr[j * F + f] += dz;
      datt[f] += de[k * H + f / D] * slope * sum;
      for (size_t c = 0; c < E; ++c) {
        dattr[k * E + c] += dz * W[c * F + f];
        dw[c * F + f] += dz * attr[k * E + c];
      }
    }
  });
  const Case::Gradients g = t.backward(true, true, true, E > 0, E > 0);
  const auto [of_target, of_source] = plain.logit_errors(dO, dtype);
  double att = 0.0;
  for (double x : A) att = std::max(att, std::abs(x));
  CHECK(close(g.dl, dl, allowed + att * of_target));
  CHECK(close(g.dr, dr, allowed + att * of_source));
  // Sums over all edges, of what is off in each.
  const double summed = dtype == DType::bf16 ? 4 * allowed : allowed;
  CHECK(close(g.datt, datt, summed));
  if (E == 0) return;
  CHECK(close(g.dattr, dattr, allowed));
  CHECK(close(g.dw, dw, summed));
}

}  // namespace

TEST_CASE("gatv2 and its gradients equal plain loops") { for_attention_cases(kWide, kFew, compare); }

TEST_CASE("gatv2 of narrow rows, several to a vector, equals plain loops") { for_narrow_cases(compare); }

TEST_CASE("gatv2's gradients are the same whichever of them are asked for, and on any number of threads") {
  for (Device device : devices())
    for (bool featured : {false, true}) {
      CAPTURES(device.str(), featured);
      const Edges edges(skewed_rows(), 61, true, device);
      Case t(edges, {4, 16, featured ? 3 : 0, true}, DType::f32, device);
      CHECK(same_bits_on_any_threads([&] {
        t.forward();
        return t.o.clone();
      }));
      const auto all = [&] { return t.backward(true, true, true, featured, featured); };
      const Case::Gradients g = all();
      CHECK(same_bits(t.backward(true, false, false, false, false).dl, g.dl));
      CHECK(same_bits(t.backward(false, true, false, false, false).dr, g.dr));
      CHECK(same_bits(t.backward(false, false, true, false, false).datt, g.datt));
      CHECK(same_bits_on_any_threads([&] { return all().dl; }));
      CHECK(same_bits_on_any_threads([&] { return all().dr; }));
      CHECK(same_bits_on_any_threads([&] { return all().datt; }));
      if (!featured) continue;
      CHECK(same_bits(t.backward(false, false, false, true, false).dattr, g.dattr));
      CHECK(same_bits(t.backward(false, false, false, false, true).dw, g.dw));
      CHECK(same_bits_on_any_threads([&] { return all().dattr; }));
      CHECK(same_bits_on_any_threads([&] { return all().dw; }));
    }
}

TEST_CASE("gatv2 bears large logits and keeps what is not a number to its row and head") {
  for (Device device : devices())
    for (bool featured : {false, true}) {
      CAPTURES(device.str(), featured);
      const Edges edges(symmetric_rows(), 61, false, device);
      Case t(edges, {3, 5, featured ? 2 : 0, false}, DType::f32, device);
      std::vector<float> l = t.l.to_vector<float>(), r = t.r.to_vector<float>();
      for (float& x : l) x *= 1e4f;
      for (float& x : r) x *= 1e4f;
      t.r = Tensor::from(r, t.r.shape(), device);
      l[4 * 15 + 7] = NAN;  // of target 4, head 1
      t.l = Tensor::from(l, t.l.shape(), device);
      t.forward();
      const Numbers o = values(t.o);
      for (size_t f = 0; f < o.size(); ++f) REQUIRE(std::isnan(o[f]) == (f / 15 == 4 && f % 15 / 5 == 1));
      const Case::Gradients g = t.backward(true, true, true, false, false);
      const Numbers dl = values(g.dl), dr = values(g.dr), datt = values(g.datt);
      for (size_t f = 0; f < dl.size(); ++f) REQUIRE(std::isnan(dl[f]) == (f / 15 == 4 && f % 15 / 5 == 1));
      std::vector<bool> reached(61);
      edges.each([&](size_t i, size_t j, size_t) { reached[j] = reached[j] || i == 4; });
      for (size_t f = 0; f < dr.size(); ++f)
        REQUIRE(std::isnan(dr[f]) == (reached[f / 15] && f % 15 / 5 == 1));
      for (size_t f = 0; f < datt.size(); ++f) REQUIRE(std::isnan(datt[f]) == (f / 5 == 1));
    }
}

TEST_CASE("a bias far larger than what gatv2 sums costs its gradients the rounding of O, no more") {
  check_large_bias<Case>([](const Case& t) { return t.backward(true, false, false, false, false).dl; });
}

TEST_CASE("gatv2 refuses what does not fit, naming it") {
  const Edges edges(small_rows(), 61, false, {});
  const auto error_with = [&](auto change) -> std::string {
    Case t(edges, {2, 3, 4, false}, DType::f32, {});
    change(t);
    return error_of([&] { t.forward(); });
  };
  CHECK(mentions(error_with([](Case& t) { t.l = Tensor::zeros({8, 5}); }), "gatv2: l is [8, 5]"));
  CHECK(mentions(error_with([](Case& t) { t.r = Tensor::zeros({8, 6}); }), "gatv2: r is [8, 6]"));
  CHECK(mentions(error_with([](Case& t) { t.att = Tensor::zeros({0, 6}); }), "gatv2: att is [0, 6]"));
  CHECK(mentions(error_with([](Case& t) { t.att = Tensor::zeros({2, 0}); }), "gatv2: att is [2, 0]"));
  CHECK(mentions(error_with([](Case& t) { t.w = {}; }), "attr and w come together"));
  CHECK(mentions(error_with([](Case& t) { t.w = Tensor::zeros({3, 6}); }), "gatv2: w is [3, 6]"));
  CHECK(mentions(error_with([](Case& t) { t.attr = Tensor::zeros({7, 4}); }), "attr is [7, 4]"));
  CHECK(mentions(error_with([](Case& t) { t.o = t.r; }), "gatv2: o"));
}
