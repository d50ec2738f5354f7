#include "attention_cases.h"
#include <adjoint/kernels/attention/dot_attention.h>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<AttentionCase> kWide{
    {1, 1, 0, false},   {8, 1, 0, true},     {3, 3, 3, true},  {8, 8, 0, true},   {8, 8, 8, false},
    {2, 33, 0, false},  {5, 7, 1, true},     {4, 16, 0, true}, {1, 64, 17, true}, {6, 128, 0, true},
    {2, 256, 3, false}, {1, 1024, 0, false}, {4, 64, 0, true}, {7, 20, 1, true}};
const std::vector<AttentionCase> kFew{{8, 8, 0, true}, {4, 16, 3, false}, {1, 7, 0, true}, {3, 5, 1, true}};

/// Whose values: v, the keys, or the keys each times its s.
enum class Values : uint8_t { own, keys, scaled_keys };

struct Case {
  const Edges& edges;
  int64_t heads, width, features;
  DType dtype, wide;
  float scale;
  kernels::AttentionDropout dropout;
  kernels::AttentionGradient gradient;
  Tensor q, k, v, s, attr, u, d_o, d_o_attr, o, o_attr, lse;

  Case(const Edges& of, const AttentionCase& shape, Values kind, DType type, Device device)
      : edges(of),
        heads(shape.heads),
        width(shape.width),
        features(shape.features),
        dtype(type),
        wide(accumulator_dtype(type)),
        scale(1.0f / std::sqrt(static_cast<float>(width))),
        dropout(attention_dropout(shape.dropout)),
        gradient(shape.gradient) {
    const auto random = [&](int64_t rows, int64_t columns, DType of_numbers) {
      return random_tensor({rows, columns}, of_numbers, device);
    };
    q = random(of.rows(), heads * width, type);
    k = random(of.cols(), heads * width, type);
    if (kind == Values::own) v = random(of.cols(), heads * width, type);
    if (kind == Values::scaled_keys) s = random(of.cols(), heads, wide);
    d_o = random(of.rows(), heads * width, type);
    o = random(of.rows(), heads * width, type);
    lse = random(of.rows(), heads, wide);
    if (features == 0) return;
    attr = random(of.count(), features, wide);
    u = random(of.rows(), heads * features, type);
    d_o_attr = random(of.rows(), heads * features, type);
    o_attr = random(of.rows(), heads * features, type);
  }

  void forward() {
    kernels::dot_attention({.a = edges.a(),
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
  struct Gradients {
    Tensor dq, dk, dv, ds, dattr, du;
  };
  /// Those of "qkvsau" that `wanted` names and that there are.
  Gradients backward(std::string_view wanted = "qkvsau") const {
    const auto like = [&](char name, const Tensor& tensor) {
      const bool there = tensor && wanted.find(name) != std::string_view::npos;
      return there ? random_tensor(tensor.shape(), tensor.dtype(), tensor.device()) : Tensor();
    };
    Gradients g{like('q', q), like('k', k), like('v', v), like('s', s), like('a', attr), like('u', u)};
    Tensor delta = random_tensor(lse.shape(), wide, lse.device());
    kernels::dot_attention_backward({.a = edges.a(),
                                     .at = edges.at(),
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
                                     .dq = g.dq,
                                     .dk = g.dk,
                                     .dv = g.dv,
                                     .ds = g.ds,
                                     .dattr = g.dattr,
                                     .du = g.du});
    return g;
  }
};

/// Rows of two matrices side by side, head by head.
Numbers beside(const Numbers& a, size_t a_width, const Numbers& b, size_t b_width) {
  Numbers both;
  for (size_t t = 0; t < a.size() / a_width; ++t) {
    both.insert(both.end(), a.begin() + static_cast<int64_t>(t * a_width),
                a.begin() + static_cast<int64_t>((t + 1) * a_width));
    if (b_width > 0)
      both.insert(both.end(), b.begin() + static_cast<int64_t>(t * b_width),
                  b.begin() + static_cast<int64_t>((t + 1) * b_width));
  }
  return both;
}

void compare(const Edges& edges, const AttentionCase& shape, Values kind, DType dtype, Device device) {
  Case t(edges, shape, kind, dtype, device);
  const auto H = static_cast<size_t>(t.heads), D = static_cast<size_t>(t.width),
             E = static_cast<size_t>(t.features);
  const double allowed = attention_tolerance(dtype, t.width), scale = static_cast<double>(t.scale);
  const Numbers Q = values(t.q), K = values(t.k), V = t.v ? values(t.v) : K,
                S = t.s ? values(t.s) : Numbers(static_cast<size_t>(edges.cols()) * H, 1.0);
  const Numbers attr = E > 0 ? values(t.attr) : Numbers(), U = E > 0 ? values(t.u) : Numbers();
  Numbers e(static_cast<size_t>(edges.count()) * H);
  edges.each([&](size_t i, size_t j, size_t k) {
    for (size_t h = 0; h < H; ++h) {
      double sum = 0.0;
      for (size_t c = 0; c < D; ++c) sum += Q[(i * H + h) * D + c] * K[(j * H + h) * D + c];
      for (size_t c = 0; c < E; ++c) sum += U[(i * H + h) * E + c] * attr[k * E + c];
      e[k * H + h] = scale * sum;
    }
  });
  // Edges' features stand behind a head's own values.
  const auto value = [&](size_t j, size_t k, size_t h, size_t c) {
    return c < D ? S[j * H + h] * V[(j * H + h) * D + c] : attr[k * E + c - D];
  };
  const PlainAttention plain(edges, H, D + E, e, mask_of(t.dropout, edges.count(), t.heads), value);
  t.forward();
  CHECK(close(t.lse, plain.lse, attention_tolerance(t.wide)));
  const Numbers O = values(t.o), dO = beside(values(t.d_o), D, E > 0 ? values(t.d_o_attr) : Numbers(), E);
  const Numbers found = beside(O, D, E > 0 ? values(t.o_attr) : Numbers(), E);
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
  const Case::Gradients g = t.backward();
  CHECK(close(g.dq, dq, allowed));
  CHECK(close(g.dk, dk, allowed));
  if (t.v) CHECK(close(g.dv, dv, allowed));
  if (t.s) CHECK(close(g.ds, ds, allowed));
  if (E > 0) CHECK(close(g.dattr, dattr, allowed));
  if (E > 0) CHECK(close(g.du, du, allowed));
}

}  // namespace

TEST_CASE("dot_attention and its gradients equal plain loops") {
  for_attention_cases(kWide, kFew,
                      [](const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
                        compare(edges, shape, Values::own, dtype, device);
                      });
}

TEST_CASE("dot_attention of narrow rows, several to a vector, equals plain loops") {
  for_narrow_cases([](const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
    for (Values kind : {Values::own, Values::scaled_keys}) compare(edges, shape, kind, dtype, device);
  });
}

TEST_CASE("dot_attention with keys for values, scaled or not, equals plain loops") {
  const std::vector<AttentionCase> wide{{1, 64, 0, true}, {3, 5, 2, false}, {1, 7, 0, false}};
  for_attention_cases(wide, {{1, 16, 0, true}},
                      [](const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
                        compare(edges, shape, Values::keys, dtype, device);
                        compare(edges, shape, Values::scaled_keys, dtype, device);
                      });
}

TEST_CASE("dot_attention's gradients are the same whichever are asked for, and on any number of threads") {
  for (Device device : devices())
    for (Values kind : {Values::own, Values::scaled_keys}) {
      CAPTURE(device.str());
      const Edges edges(skewed_rows(), 61, true, device);
      Case t(edges, {4, 16, kind == Values::own ? 3 : 0, true}, kind, DType::f32, device);
      CHECK(same_bits_on_any_threads([&] {
        t.forward();
        return t.o.clone();
      }));
      const auto gradient = [&](char name, std::string_view wanted) {
        const Case::Gradients g = t.backward(wanted);
        return name == 'q'   ? g.dq
               : name == 'k' ? g.dk
               : name == 'v' ? g.dv
               : name == 's' ? g.ds
               : name == 'a' ? g.dattr
                             : g.du;
      };
      for (char name : kind == Values::own ? std::string("qkvau") : std::string("qks")) {
        CAPTURE(name);
        const Tensor all = gradient(name, "qkvsau");
        CHECK(same_bits(gradient(name, std::string(1, name)), all));
        CHECK(same_bits_on_any_threads([&] { return gradient(name, "qkvsau"); }));
      }
    }
}

TEST_CASE("dot_attention's gradients where o has the edges' share already") {
  for (Device device : devices()) {
    const Edges edges(small_rows(), 61, true, device);
    Case t(edges, {2, 3, 4, true}, Values::own, DType::f64, device);
    t.forward();
    const Case::Gradients apart = t.backward();
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
    const Case::Gradients expected = t.backward();
    t.o = Tensor::from(o, t.o.shape(), device);
    t.o_attr = {};
    const Case::Gradients together = t.backward();
    CHECK(close(together.dq, expected.dq, 1e-11));
    CHECK(close(together.dk, expected.dk, 1e-11));
    CHECK(close(together.dattr, expected.dattr, 1e-11));
    CHECK(close(together.du, expected.du, 1e-11));
  }
}

TEST_CASE("dot_attention bears large logits and keeps what is not a number to its row and head") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    const Edges edges(symmetric_rows(), 61, false, device);
    Case t(edges, {3, 5, 0, false}, Values::own, DType::f32, device);
    std::vector<float> q = t.q.to_vector<float>(), k = t.k.to_vector<float>();
    for (float& x : q) x *= 1e10f;
    for (float& x : k) x *= 1e10f;
    t.k = Tensor::from(k, t.k.shape(), device);
    q[4 * 15 + 7] = NAN;  // of target 4, head 1
    t.q = Tensor::from(q, t.q.shape(), device);
    t.forward();
    const Numbers o = values(t.o);
    for (size_t f = 0; f < o.size(); ++f) REQUIRE(std::isnan(o[f]) == (f / 15 == 4 && f % 15 / 5 == 1));
    const Case::Gradients g = t.backward();
    const Numbers dq = values(g.dq), dv = values(g.dv);
    for (size_t f = 0; f < dq.size(); ++f) REQUIRE(std::isnan(dq[f]) == (f / 15 == 4 && f % 15 / 5 == 1));
    std::vector<bool> reached(61);
    edges.each([&](size_t i, size_t j, size_t) { reached[j] = reached[j] || i == 4; });
    for (size_t f = 0; f < dv.size(); ++f) REQUIRE(std::isnan(dv[f]) == (reached[f / 15] && f % 15 / 5 == 1));
  }
}

TEST_CASE("dot_attention refuses what does not fit, naming it") {
  const Edges edges(small_rows(), 61, false, {});
  const auto error_with = [&](auto change) -> std::string {
    Case t(edges, {2, 3, 4, false}, Values::own, DType::f32, {});
    change(t);
    return error_of([&] { t.forward(); });
  };
  CHECK(mentions(error_with([](Case& t) { t.heads = 4; }), "6 columns of q do not divide into 4 heads"));
  CHECK(mentions(error_with([](Case& t) { t.heads = 0; }), "0 heads"));
  CHECK(mentions(error_with([](Case& t) { t.k = Tensor::zeros({8, 6}); }), "dot_attention: k is [8, 6]"));
  CHECK(mentions(error_with([](Case& t) { t.v = Tensor::zeros({61, 5}); }), "dot_attention: v is [61, 5]"));
  CHECK(mentions(error_with([](Case& t) { t.s = Tensor::zeros({61, 2}); }), "but there is v"));
  CHECK(mentions(error_with([](Case& t) { t.u = {}; }), "attr, u and o_attr come together"));
  CHECK(mentions(error_with([](Case& t) { t.o = t.q; }), "dot_attention: o"));
}
