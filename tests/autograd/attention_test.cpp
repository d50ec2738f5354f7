#include "relation_cases.h"
#include <adjoint/autograd/attention.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kHeads = 2, kWidth = 3, kFeatures = 2;

/// Random operands of an op for a relation. Features of nodes and of edges (none where `featured` is false).
struct Inputs {
  Tensor dst, src, value, one, two, attr;

  Inputs(Draw& draw, const Relation& relation)
      : dst(draw.normal({relation.num_dst(), kHeads, kWidth})),
        src(draw.normal({relation.num_src(), kHeads, kWidth})),
        value(draw.normal({relation.num_src(), kHeads, kWidth})),
        one(draw.normal({kHeads, kWidth})),
        two(draw.normal({kHeads, kWidth})),
        attr(draw.normal({relation.num_edges(), kFeatures})) {}
};

/// Options with dropout, drawing the same numbers at every call, and optional edge features.
struct Dropping {
  Generator generator{5};
  AttentionOptions operator()(float p, const Var& attr = {}, const Var& weight = {}) {
    generator.set_state(5, 0);
    return {.dropout = p, .generator = &generator, .edge_attr = attr, .edge_weight = weight};
  }
};

/// Σ_j softmax(logit) value, [targets, H D], by plain loops: logit(edge, source, target, h), value(edge,
/// source, h, c).
template <class Logit, class Value>
Numbers plain(const Relation& relation, size_t heads, size_t width, Logit&& logit, Value&& value) {
  const auto targets = uz(relation.num_dst());
  Numbers sum(targets * heads), o(sum.size() * width);
  each_edge(relation, [&](int32_t source, int32_t target, int64_t edge) {
    const size_t j = uz(source), i = uz(target), e = uz(edge);
    for (size_t h = 0; h < heads; ++h) {
      const double a = std::exp(logit(e, j, i, h));
      sum[i * heads + h] += a;
      for (size_t c = 0; c < width; ++c) o[(i * heads + h) * width + c] += a * value(e, j, h, c);
    }
  });
  for (size_t f = 0; f < o.size(); ++f)
    if (sum[f / width] > 0.0) o[f] /= sum[f / width];
  return o;
}

double leaky(double z) { return z > 0.0 ? z : static_cast<double>(0.2f) * z; }

Tensor flat(const Var& x) { return x.value().reshape({x.value().numel()}); }

}  // namespace

TEST_CASE("attentions are the softmax of their papers' logits") {
  for_relations(90, [](const Relation& relation, Draw& draw) {
    const Inputs in(draw, relation);
    const Tensor by_head = draw.normal({kFeatures, kHeads}),
                 by_feature = draw.normal({kFeatures, kHeads * kWidth});
    const auto X = values(in.src), Y = values(in.dst), V = values(in.value), S = values(in.one),
               T = values(in.two), A = values(in.attr), C = values(by_head), W = values(by_feature);
    const auto index = [](size_t row, size_t h, size_t c) { return (row * kHeads + h) * kWidth + c; };
    const auto edge = [&](size_t e, size_t h, size_t c) {
      double sum = 0.0;
      for (size_t f = 0; f < kFeatures; ++f)
        sum += A[e * kFeatures + f] * W[f * kHeads * kWidth + h * kWidth + c];
      return sum;
    };
    const AttentionOptions featured{.edge_attr = in.attr, .edge_weight = by_feature};
    const auto gat = [&](const Numbers& target, bool with_edges) {
      return plain(
          relation, kHeads, kWidth,
          [&](size_t e, size_t j, size_t i, size_t h) {
            double z = 0.0;
            for (size_t c = 0; c < kWidth; ++c)
              z += S[h * kWidth + c] * X[index(j, h, c)] + T[h * kWidth + c] * target[index(i, h, c)];
            if (with_edges)
              for (size_t f = 0; f < kFeatures; ++f) z += A[e * kFeatures + f] * C[f * kHeads + h];
            return leaky(z);
          },
          [&](size_t, size_t j, size_t h, size_t c) { return X[index(j, h, c)]; });
    };
    CHECK(
        close(flat(gat_attention(relation, in.src, in.one, in.two, 0.2f, {}, in.dst)), gat(Y, false), 1e-12));
    CHECK(close(flat(gat_attention(relation, in.src, in.one, in.two, 0.2f,
                                   {.edge_attr = in.attr, .edge_weight = by_head}, in.dst)),
                gat(Y, true), 1e-12));
    if (relation.num_src() == relation.num_dst())
      CHECK(close(flat(gat_attention(relation, in.src, in.one, in.two, 0.2f)), gat(X, false), 1e-12));
    for (bool with_edges : {false, true}) {
      CAPTURE(with_edges);
      const AttentionOptions options = with_edges ? featured : AttentionOptions{};
      const auto of_edge = [&](size_t e, size_t h, size_t c) { return with_edges ? edge(e, h, c) : 0.0; };
      const auto gatv2 = plain(
          relation, kHeads, kWidth,
          [&](size_t e, size_t j, size_t i, size_t h) {
            double sum = 0.0;
            for (size_t c = 0; c < kWidth; ++c)
              sum += S[h * kWidth + c] * leaky(Y[index(i, h, c)] + X[index(j, h, c)] + of_edge(e, h, c));
            return sum;
          },
          [&](size_t, size_t j, size_t h, size_t c) { return X[index(j, h, c)]; });
      CHECK(close(flat(gatv2_attention(relation, in.dst, in.src, in.one, 0.2f, options)), gatv2, 1e-12));
      for (float scale : {0.0f, 0.5f}) {
        const double factor = scale == 0.0f ? static_cast<double>(1.0f / std::sqrt(3.0f)) : 0.5;
        const auto dot = plain(
            relation, kHeads, kWidth,
            [&](size_t e, size_t j, size_t i, size_t h) {
              double sum = 0.0;
              for (size_t c = 0; c < kWidth; ++c)
                sum += Y[index(i, h, c)] * (X[index(j, h, c)] + of_edge(e, h, c));
              return factor * sum;
            },
            [&](size_t e, size_t j, size_t h, size_t c) { return V[index(j, h, c)] + of_edge(e, h, c); });
        CHECK(close(flat(dot_attention(relation, in.dst, in.src, in.value, options, scale)), dot, 1e-12));
      }
    }
    if (relation.num_src() != relation.num_dst()) return;
    Tensor x = draw.normal({relation.num_src(), 4});
    Numbers rows = values(x);
    std::fill_n(rows.begin(), 4, 0.0);  // the first node has no direction
    x = Tensor::from(rows, x.shape(), x.device());
    const auto norm = [&](size_t i) {
      double sum = 0.0;
      for (size_t c = 0; c < 4; ++c) sum += rows[i * 4 + c] * rows[i * 4 + c];
      return std::max(std::sqrt(sum), 1e-12);
    };
    const Tensor beta = draw.normal({1});
    const auto agnn = plain(
        relation, 1, 4,
        [&](size_t, size_t j, size_t i, size_t) {
          double sum = 0.0;
          for (size_t c = 0; c < 4; ++c) sum += rows[i * 4 + c] * rows[j * 4 + c];
          return values(beta)[0] * sum / (norm(i) * norm(j));
        },
        [&](size_t, size_t j, size_t, size_t c) { return rows[j * 4 + c]; });
    CHECK(close(flat(cosine_attention(relation, x, beta)), agnn, 1e-12));
  });
}

TEST_CASE("gradients of gat_attention, with every option, together and alone") {
  for_relations(91, [](const Relation& a, Draw& draw) {
    const Inputs in(draw, a);
    const Tensor weight = draw.normal({kFeatures, kHeads});
    Dropping drop;
    for (float p : {0.0f, 0.4f}) {
      CAPTURE(p);
      check_each([&](const auto& v) { return gat_attention(a, v[0], v[1], v[2], 0.2f, drop(p), v[3]); },
                 {in.src, in.one, in.two, in.dst});
      check_each(
          [&](const auto& v) { return gat_attention(a, v[0], v[1], v[2], 0.2f, drop(p, v[4], v[5]), v[3]); },
          {in.src, in.one, in.two, in.dst, in.attr, weight});
      if (a.num_src() != a.num_dst()) continue;
      check_each([&](const auto& v) { return gat_attention(a, v[0], v[1], v[2], 0.2f, drop(p)); },
                 {in.src, in.one, in.two});
      check_each(
          [&](const auto& v) { return gat_attention(a, v[0], v[1], v[2], 0.2f, drop(p, v[3], v[4]), v[0]); },
          {in.src, in.one, in.two, in.attr, weight});
    }
  });
}

TEST_CASE("gradients of gatv2_attention, with every option, together and alone") {
  for_relations(92, [](const Relation& a, Draw& draw) {
    const Inputs in(draw, a);
    const Tensor weight = draw.normal({kFeatures, kHeads * kWidth});
    Dropping drop;
    for (float p : {0.0f, 0.4f}) {
      CAPTURE(p);
      check_each([&](const auto& v) { return gatv2_attention(a, v[0], v[1], v[2], 0.2f, drop(p)); },
                 {in.dst, in.src, in.one});
      check_each(
          [&](const auto& v) { return gatv2_attention(a, v[0], v[1], v[2], 0.2f, drop(p, v[3], v[4])); },
          {in.dst, in.src, in.one, in.attr, weight});
    }
    if (a.num_src() == a.num_dst())
      check([&](const auto& v) { return gatv2_attention(a, v[0], v[0], v[1], 0.2f); }, {in.src, in.one});
  });
}

TEST_CASE("gradients of dot_attention, with every option, together and alone") {
  for_relations(93, [](const Relation& a, Draw& draw) {
    const Inputs in(draw, a);
    const Tensor weight = draw.normal({kFeatures, kHeads * kWidth});
    Dropping drop;
    for (float p : {0.0f, 0.4f}) {
      CAPTURE(p);
      check_each([&](const auto& v) { return dot_attention(a, v[0], v[1], v[2], drop(p)); },
                 {in.dst, in.src, in.value});
      check_each([&](const auto& v) { return dot_attention(a, v[0], v[1], v[2], drop(p, v[3], v[4]), 0.7f); },
                 {in.dst, in.src, in.value, in.attr, weight});
    }
    check([&](const auto& v) { return dot_attention(a, in.dst, v[0], v[0]); }, {in.src});
  });
}

TEST_CASE("dot_attention with edge features keeps non-finite numbers within their head") {
  for_relations(95, [](const Relation& relation, Draw& draw) {
    if (relation.num_edges() == 0) return;
    const Inputs in(draw, relation);
    const Tensor weight = draw.normal({kFeatures, kHeads * kWidth});
    const auto run = [&](const std::vector<Tensor>& inputs) {
      return with_gradients(
          [&](const auto& v) {
            return dot_attention(relation, v[0], v[1], v[2], {.edge_attr = in.attr, .edge_weight = v[3]});
          },
          inputs);
    };
    const std::vector<Tensor> operands{in.dst, in.src, in.value, weight};
    const std::vector<Tensor> whole = run(operands);
    for (double odd : {INFINITY, NAN})
      for (size_t broken = 0; broken < operands.size(); ++broken) {
        CAPTURES(odd, broken);
        // Head 0 of any operand: the last dimension, or the last two, are heads and their features.
        Numbers numbers = values(operands[broken]);
        numbers[0] = odd;
        std::vector<Tensor> with = operands;
        with[broken] = Tensor::from(numbers, operands[broken].shape())
                           .to(operands[broken].dtype())
                           .to(operands[broken].device());
        const std::vector<Tensor> got = run(with);
        for (size_t k = 0; k < got.size(); ++k) {
          CAPTURE(k);
          const Numbers a = values(got[k]), b = values(whole[k]);
          for (size_t f = 0; f < a.size(); ++f)
            if (f % (kHeads * kWidth) >= kWidth) REQUIRE(a[f] == doctest::Approx(b[f]).epsilon(1e-9));
        }
      }
  });
}

TEST_CASE("gradients of cosine_attention and of head_dot") {
  for_relations(94, [](const Relation& relation, Draw& draw) {
    const Inputs in(draw, relation);
    check_each([&](const auto& v) { return head_dot(v[0], v[1]); }, {in.src, in.one});
    if (relation.num_src() != relation.num_dst()) return;
    const Tensor x = draw.normal({relation.num_src(), 4}), beta = draw.normal({1});
    Dropping dropping;
    for (float p : {0.0f, 0.4f})
      check_each([&](const auto& v) { return cosine_attention(relation, v[0], v[1], dropping(p)); },
                 {x, beta});
  });
}
