#include "relation_cases.h"
#include <adjoint/ops.h>

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

/// [M, H, D] as [M, H D].
Var flat(const Var& x) { return reshape(x, {x.size(0), x.size(1) * x.size(2)}); }

}  // namespace

TEST_CASE("attentions are the softmax of their papers' logits") {
  for_relations(90, [](const Relation& a, Draw& draw) {
    const Inputs in(draw, a);
    const Var one(in.one), two(in.two), attr(in.attr), none = Tensor::zeros_like(in.attr);
    const Var by_head = draw.normal({kFeatures, kHeads}), map = draw.normal({kFeatures, kHeads * kWidth});
    const auto [sources, targets] = a.edge_index();
    const Var src = index_select(in.src, sources), value = index_select(in.value, sources),
              dst = index_select(in.dst, targets);
    // Σ_j softmax(logit) message, over each target's edges.
    const auto holds = [&](const Var& found, const Var& logit, const Var& message) {
      const Var alpha = reshape(edge_softmax(a, logit), {a.num_edges(), logit.size(1), 1});
      CHECK(close(found.value(), edge_sum(a, flat(alpha * message)).value().reshape(found.shape()), 1e-12));
    };
    const auto score = [&](const Var& logits) { return sum(logits, 2); };
    for (bool with_edges : {false, true}) {
      CAPTURE(with_edges);
      const Var features = with_edges ? attr : none;
      const Var edge = reshape(matmul(features, map), {a.num_edges(), kHeads, kWidth});
      const auto options = [&](const Var& weight) {
        return with_edges ? AttentionOptions{.edge_attr = attr, .edge_weight = weight} : AttentionOptions{};
      };
      const auto gat = [&](const Var& target) {
        return leaky_relu(score(src * one) + score(target * two) + matmul(features, by_head), 0.2f);
      };
      holds(gat_attention(a, in.src, one, two, 0.2f, options(by_head), in.dst), gat(dst), src);
      if (a.num_src() == a.num_dst())
        holds(gat_attention(a, in.src, one, two, 0.2f, options(by_head)), gat(index_select(in.src, targets)),
              src);
      holds(gatv2_attention(a, in.dst, in.src, one, 0.2f, options(map)),
            score(leaky_relu(dst + src + edge, 0.2f) * one), src);
      const Var dot = score(dst * (src + edge));
      const double usual = static_cast<double>(1.0f / std::sqrt(3.0f));
      holds(dot_attention(a, in.dst, in.src, in.value, options(map)), dot * usual, value + edge);
      holds(dot_attention(a, in.dst, in.src, in.value, options(map), 0.5f), dot * 0.5, value + edge);
    }
    if (a.num_src() != a.num_dst()) return;
    Tensor x = draw.normal({a.num_src(), 4}), beta = draw.normal({1});
    x.rows(0, 1).zero_();  // the first node has no direction
    const Var unit = reshape(l2_normalize(x), {a.num_src(), 1, 4});
    holds(cosine_attention(a, x, beta),
          score(index_select(unit, sources) * index_select(unit, targets)) * Var(beta),
          index_select(x.reshape({a.num_src(), 1, 4}), sources));
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
