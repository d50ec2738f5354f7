#include "attention_calls.h"

using namespace adj;
using namespace adj::test;

namespace {

/// Rows of two matrices side by side, head by head.
Numbers concat(const Numbers& a, size_t a_width, const Numbers& b, size_t b_width) {
  Numbers both;
  for (size_t t = 0; t < a.size() / a_width; ++t) {
    both.insert(both.end(), a.data() + t * a_width, a.data() + (t + 1) * a_width);
    both.insert(both.end(), b.data() + t * b_width, b.data() + (t + 1) * b_width);
  }
  return both;
}

void compare(const Edges& edges, const AttentionCase& shape, Values kind, DType dtype) {
  DotCall t(edges, shape, dtype, kind);
  const auto H = uz(t.heads), D = uz(t.width), E = uz(t.features);
  const double allowed = attention_tolerance(dtype, t.width), scale = static_cast<double>(t.scale);
  const Numbers Q = values(t.q), K = values(t.k), V = t.v ? values(t.v) : K,
                S = t.s ? values(t.s) : Numbers(uz(edges.cols()) * H, 1.0);
  const Numbers attr = E > 0 ? values(t.attr) : Numbers(), U = E > 0 ? values(t.u) : Numbers();
  Numbers e(uz(edges.count()) * H);
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t h = 0; h < H; ++h) {
      double sum = 0.0;
      for (size_t c = 0; c < D; ++c) sum += Q[(i * H + h) * D + c] * K[(j * H + h) * D + c];
      for (size_t c = 0; c < E; ++c) sum += U[(i * H + h) * E + c] * attr[k * E + c];
      e[k * H + h] = scale * sum;
    }
  });
  // Edge features follow a head's own values.
  const auto value = [&](size_t j, size_t k, size_t h, size_t c) {
    return c < D ? S[j * H + h] * V[(j * H + h) * D + c] : attr[k * E + c - D];
  };
  const PlainAttention plain(edges, H, D + E, e, dropout_mask(e.size(), t.dropout.key, t.dropout.rule),
                             value);
  t.forward();
  CHECK(close(t.lse, plain.lse, attention_tolerance(t.accumulator)));
  const Numbers O = values(t.o), dO = concat(values(t.d_o), D, E > 0 ? values(t.d_o_attr) : Numbers(), E);
  const Numbers found = concat(O, D, E > 0 ? values(t.o_attr) : Numbers(), E);
  CHECK(close(Tensor::from(found), plain.o, allowed));

  const Numbers de = plain.backward(dO, value), by_value = plain.value_gradients(dO, D);
  Numbers dq(Q.size()), dk(K.size()), dv(V.size()), ds(S.size()), dattr(attr.size()), du(U.size());
  for (size_t f = 0; f < by_value.size(); ++f) {
    ds[f / D] += by_value[f] * V[f];
    dv[f] = S[f / D] * by_value[f];
  }
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t h = 0; h < H; ++h) {
      const double d = scale * de[k * H + h];
      for (size_t c = 0; c < D; ++c) {
        dq[(i * H + h) * D + c] += d * K[(j * H + h) * D + c];
        dk[(j * H + h) * D + c] += d * Q[(i * H + h) * D + c];
      }
      for (size_t c = 0; c < E; ++c) {
        du[(i * H + h) * E + c] += d * attr[k * E + c];
        dattr[k * E + c] += d * U[(i * H + h) * E + c] + plain.mask[k * H + h] * plain.alpha[k * H + h] *
                                                             dO[(i * H + h) * (D + E) + D + c];
      }
    }
  });
  if (!t.v)
    for (size_t f = 0; f < dk.size(); ++f) dk[f] += dv[f];
  const GradientMap g = t.backward();
  CHECK(close(g.at('q'), dq, allowed));
  CHECK(close(g.at('k'), dk, allowed));
  if (t.v) CHECK(close(g.at('v'), dv, allowed));
  if (t.s) CHECK(close(g.at('s'), ds, allowed));
  if (E > 0) CHECK(close(g.at('a'), dattr, allowed));
  if (E > 0) CHECK(close(g.at('u'), du, allowed));
}

/// A comparison for each of these kinds of values.
auto comparing(std::initializer_list<Values> kinds) {
  return [list = std::vector<Values>(kinds)](const Edges& edges, const AttentionCase& shape, DType dtype,
                                             Device) {
    for (Values kind : list)
      if (kind == Values::v || shape.features == 0)  // keys for values take no edge features
        compare(edges, shape, kind, dtype);
  };
}

}  // namespace

TEST_CASE("dot_attention and its gradients equal plain loops") {
  for_attention_cases(kWideShapes, kFewShapes, comparing({Values::v}));
}

TEST_CASE("dot_attention of narrow rows, several to a vector, equals plain loops") {
  for_narrow_cases(comparing({Values::v, Values::scaled_keys}));
}

TEST_CASE("dot_attention with keys for values, scaled or not, equals plain loops") {
  for_attention_cases({{1, 64, 0, true}, {3, 5, 0, false}, {1, 7, 0, false}}, {{1, 16, 0, true}},
                      comparing({Values::keys, Values::scaled_keys}));
}

TEST_CASE("dot_attention's gradients are the same alone and together, and on any number of threads") {
  for (Device device : devices())
    for (Values kind : {Values::v, Values::scaled_keys}) {
      const Edges edges(skewed_rows(), 61, true, device);
      const bool has_values = kind == Values::v;
      DotCall t(edges, {4, 16, has_values ? 3 : 0, true}, DType::f32, kind);
      check_same_gradients(t, has_values ? "qkvau" : "qks");
    }
}

TEST_CASE("dot_attention's gradients when o already includes the edge features' part") {
  for (Device device : devices()) {
    const Edges edges(small_rows(), 61, true, device);
    DotCall t(edges, {2, 3, 4, true}, DType::f64);
    t.forward();
    // O' = O + o_attr B by head, of which dO' = dO finds d_o_attr = dO Bᵀ.
    const Numbers B = values(random_tensor({2 * 4 * 3}, DType::f64)), dO = values(t.d_o);
    Numbers o = values(t.o), d_o_attr = values(t.d_o_attr);
    const Numbers o_attr = values(t.o_attr);
    for (size_t node = 0; node < o.size() / 6; ++node)
      for (size_t h = 0; h < 2; ++h)
        for (size_t e = 0; e < 4; ++e) {
          double sum = 0.0;
          for (size_t d = 0; d < 3; ++d) {
            o[node * 6 + h * 3 + d] += o_attr[node * 8 + h * 4 + e] * B[(h * 4 + e) * 3 + d];
            sum += dO[node * 6 + h * 3 + d] * B[(h * 4 + e) * 3 + d];
          }
          d_o_attr[node * 8 + h * 4 + e] = sum;
        }
    t.d_o_attr = Tensor::from(d_o_attr, t.d_o_attr.shape(), device);
    const GradientMap expected = t.backward();
    t.o = Tensor::from(o, t.o.shape(), device);
    t.o_attr = {};
    const GradientMap together = t.backward();
    for (char name : {'q', 'k', 'a', 'u'}) CHECK(close(together.at(name), expected.at(name), 1e-11));
  }
}

TEST_CASE("dot_attention with large logits is finite, and a NaN stays in its row and head") {
  for (Device device : devices()) {
    const Edges edges(symmetric_rows(), 61, false, device);
    DotCall t(edges, {3, 5, 0, false}, DType::f32);
    check_nan_of_target(t, &DotCall::q, &DotCall::k, 1e10, 'q', 'v');
  }
}

TEST_CASE("dot_attention rejects mismatched arguments, naming them") {
  const Edges edges(small_rows(), 61, false, {});
  const auto call = [&](auto change) {
    DotCall t(edges, {2, 3, 4, false}, DType::f32);
    change(t);
    t.forward();
  };
  CHECK_ERROR_HAS(call([](DotCall& t) { t.heads = 4; }), "6 columns of q do not divide into 4 heads");
  CHECK_ERROR_HAS(call([](DotCall& t) { t.heads = 0; }), "0 heads");
  CHECK_ERROR_HAS(call([](DotCall& t) { t.k = Tensor::zeros({8, 6}); }), "dot_attention: k is [8, 6]");
  CHECK_ERROR_HAS(call([](DotCall& t) { t.v = Tensor::zeros({61, 5}); }), "dot_attention: v is [61, 5]");
  CHECK_ERROR_HAS(call([](DotCall& t) { t.s = Tensor::zeros({61, 2}); }), "but there is v");
  CHECK_ERROR_HAS(call([](DotCall& t) { t.u = {}; }), "attr, u and o_attr come together");
  CHECK_ERROR_HAS(call([](DotCall& t) { t.o = t.q; }), "dot_attention: o");
}
