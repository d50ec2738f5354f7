#include "attention_calls.h"

using namespace adj;
using namespace adj::test;

namespace {

void compare(const Edges& edges, const AttentionCase& shape, DType dtype, Device) {
  Gatv2Call t(edges, shape, dtype);
  const auto H = uz(t.heads), D = uz(t.width), E = uz(t.features), F = H * D;
  const double allowed = attention_tolerance(dtype, t.width);
  const Numbers L = values(t.l), R = values(t.r), A = values(t.att), dO = values(t.d_o);
  const Numbers attr = E > 0 ? values(t.attr) : Numbers(), W = E > 0 ? values(t.w) : Numbers();
  const auto z = [&](size_t i, size_t j, size_t k, size_t f) {
    double sum = L[i * F + f] + R[j * F + f];
    for (size_t c = 0; c < E; ++c) sum += attr[k * E + c] * W[c * F + f];
    return sum;
  };
  Numbers e(uz(edges.count()) * H);
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t f = 0; f < F; ++f) {
      const double sum = z(i, j, k, f);
      e[k * H + f / D] += A[f] * sum * slope_at(sum);
    }
  });
  const auto value = [&](size_t j, size_t, size_t h, size_t c) { return R[(j * H + h) * D + c]; };
  const PlainAttention plain(edges, H, D, e, dropout_mask(e.size(), t.dropout.key, t.dropout.rule), value);
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
  const GradientMap g = t.backward();
  const auto [of_target, of_source] = plain.logit_errors(dO, dtype);
  double att = 0.0;
  for (double x : A) att = std::max(att, std::abs(x));
  CHECK(close(g.at('l'), dl, allowed + att * of_target));
  CHECK(close(g.at('r'), dr, allowed + att * of_source));
  // Sums over all edges of each one's error.
  const double summed = dtype == DType::bf16 ? 4 * allowed : allowed;
  CHECK(close(g.at('t'), datt, summed));
  if (E == 0) return;
  CHECK(close(g.at('a'), dattr, allowed));
  CHECK(close(g.at('w'), dw, summed));
}

}  // namespace

TEST_CASE("gatv2 and its gradients equal plain loops") {
  for_attention_cases(kWideShapes, kFewShapes, compare);
}

TEST_CASE("gatv2 of narrow rows, several to a vector, equals plain loops") { for_narrow_cases(compare); }

TEST_CASE("gatv2's gradients are the same alone and together, and on any number of threads") {
  for (Device device : devices())
    for (bool featured : {false, true}) {
      CAPTURE(featured);
      const Edges edges(skewed_rows(), 61, true, device);
      Gatv2Call t(edges, {4, 16, featured ? 3 : 0, true}, DType::f32);
      check_same_gradients(t, featured ? "lrtaw" : "lrt");
    }
}

TEST_CASE("gatv2 and its gradients have the same bits if a captured step plans the structure") {
  for (Device device : devices()) {
    if (!StepGraph::supported(device)) continue;
    const Edges edges(skewed_rows(), 61, true, device);
    Gatv2Call t(edges, {4, 16, 0, true}, DType::f32);
    t.forward();
    const Tensor o = t.o.clone();
    const GradientMap expected = t.backward("lrt");
    // Without cached plans, by upper bounds of their counts.
    t.links.csr.cache = std::make_shared<KeyedCache>();
    t.links.transposed.cache = std::make_shared<KeyedCache>();
    StepGraph step;
    step.begin(device);
    t.forward();
    const GradientMap captured = t.backward("lrt");
    step.end();
    t.o.zero_();
    step.replay();
    CHECK(same_bits(t.o, o));
    for (const char name : {'l', 'r', 't'}) CHECK(same_bits(captured.at(name), expected.at(name)));
  }
}

TEST_CASE("gatv2 with large logits is finite, and a NaN stays in its row and head") {
  for (Device device : devices())
    for (bool featured : {false, true}) {
      CAPTURE(featured);
      const Edges edges(symmetric_rows(), 61, false, device);
      Gatv2Call t(edges, {3, 5, featured ? 2 : 0, false}, DType::f32);
      const GradientMap g = check_nan_of_target(t, &Gatv2Call::l, &Gatv2Call::r, 1e4, 'l', 'r');
      check_nan(g.at('t'), [](size_t k) { return k / 5 == 1; });
    }
}

TEST_CASE("with a bias far larger than gatv2's sums, gradients lose no more than the rounding of O") {
  check_large_bias<Gatv2Call>();
}

TEST_CASE("gatv2 rejects mismatched arguments, naming them") {
  const Edges edges(small_rows(), 61, false, {});
  const auto call = [&](auto change) {
    Gatv2Call t(edges, {2, 3, 4, false}, DType::f32);
    change(t);
    t.forward();
  };
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.l = Tensor::zeros({8, 5}); }), "gatv2: l is [8, 5]");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.r = Tensor::zeros({8, 6}); }), "gatv2: r is [8, 6]");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.att = Tensor::zeros({0, 6}); }), "gatv2: att is [0, 6]");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.att = Tensor::zeros({2, 0}); }), "gatv2: att is [2, 0]");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.w = {}; }), "attr and w come together");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.w = Tensor::zeros({3, 6}); }), "gatv2: w is [3, 6]");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.attr = Tensor::zeros({7, 4}); }), "attr is [7, 4]");
  CHECK_ERROR_HAS(call([](Gatv2Call& t) { t.o = t.r; }), "gatv2: o");
}
