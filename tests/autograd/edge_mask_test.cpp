#include "../reference/plain.h"
#include <adjoint/autograd/attention_weights.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/autograd/gine_sum.h>
#include <adjoint/autograd/gradient_check.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kNodes = 6, kWidth = 4, kHeads = 2;

/// Directed, with a parallel edge and a loop.
Relation few_edges() {
  return Relation::from_coo(kNodes, kNodes, Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 3, 4, 0, 2, 2}),
                            Tensor::from(std::vector<int32_t>{1, 2, 0, 2, 2, 3, 3, 2, 5}));
}

/// The sums or maxima over the edges of a target of message(edge, source, column).
template <class Message>
Numbers loop(const Relation& edges, int64_t width, Reduce reduce, Message message) {
  const EdgeIndex ends = edges.edge_index();
  Dense messages(edges.num_edges(), width);
  for (int64_t e = 0; e < messages.rows; ++e)
    for (int64_t k = 0; k < width; ++k) messages(e, k) = message(e, ends.src.data<int32_t>()[e], k);
  return reduced(edges, messages, reduce).data;
}

/// f() under a mask.
template <class F>
Var masked(const Relation& edges, const Var& mask, F f) {
  EdgeMask scope(edges);
  scope.set(mask);
  return f();
}

}  // namespace

TEST_CASE("an edge mask multiplies messages, and gradients reach it") {
  Draw draw(811, {}, DType::f64);
  const Relation edges = few_edges();
  const int64_t count = edges.num_edges();
  const Tensor mask = draw.uniform({count}, 0.1, 0.9), x = draw.normal({kNodes, kWidth}),
               weight = draw.normal({count}), attr = draw.normal({count, 3}), map = draw.normal({3, kWidth});
  const Numbers m = values(mask), v = values(x), w = values(weight);
  const auto source = [&](int64_t j, int64_t k) { return v[uz(j * kWidth + k)]; };
  const auto check = [&](auto f, const Numbers& expected) {
    CHECK(close(masked(edges, mask, [&] { return f(Var(x)); }).value(), expected, 1e-12));
    CHECK(check_gradients([&](const auto& in) { return masked(edges, in[0], [&] { return f(in[1]); }); },
                          {mask, x})
              .passed);
  };
  const auto weighted = [&](int64_t e, int64_t j, int64_t k) { return m[uz(e)] * w[uz(e)] * source(j, k); };
  for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
    CAPTURE(name_of(reduce));
    check([&](const Var& in) { return aggregate(edges, in, {.reduce = reduce, .weight = Var(weight)}); },
          loop(edges, kWidth, reduce, weighted));
  }
  const Numbers a = values(attr), r = values(map);
  check([&](const Var& in) { return gine_sum(edges, in, Var(attr), Var(map)); },
        loop(edges, kWidth, Reduce::sum, [&](int64_t e, int64_t j, int64_t k) {
          double sum = source(j, k);
          for (int64_t c = 0; c < 3; ++c) sum += a[uz(e * 3 + c)] * r[uz(c * kWidth + k)];
          return m[uz(e)] * std::max(sum, 0.0);
        }));
}

TEST_CASE("attention coefficients are those without an edge mask") {
  Draw draw(812, {}, DType::f64);
  const Relation edges = few_edges();
  const int64_t count = edges.num_edges();
  const Shape by_head{kNodes, kHeads, kWidth};
  const Tensor mask = draw.uniform({count}, 0.1, 0.9), x = draw.normal(by_head), q = draw.normal(by_head),
               k = draw.normal(by_head), att = draw.normal({kHeads, kWidth}),
               att2 = draw.normal({kHeads, kWidth}), attr = draw.normal({count, 3}),
               to_heads = draw.normal({3, kHeads}), to_all = draw.normal({3, kHeads * kWidth});
  const Numbers m = values(mask), v = values(x), a = values(attr), r = values(to_all);
  /// `edge_values`: the edge features are added to the values.
  const auto check = [&](auto f, bool edge_values) {
    Numbers alpha;
    {
      const AttentionRecord record;
      const NoGrad no_grad;
      (void)f(Var(x));
      alpha = values(record.layers().at(0).weight);
    }
    const Numbers expected = loop(edges, kHeads * kWidth, Reduce::sum, [&](int64_t e, int64_t j, int64_t c) {
      double value = v[uz(j * kHeads * kWidth + c)];
      for (int64_t b = 0; edge_values && b < 3; ++b)
        value += a[uz(e * 3 + b)] * r[uz(b * kHeads * kWidth + c)];
      const size_t head = alpha.size() == uz(count) ? 0 : uz(c / kWidth);
      return m[uz(e)] * alpha[uz(e) * (alpha.size() / uz(count)) + head] * value;
    });
    const Tensor y = masked(edges, mask, [&] { return f(Var(x)); }).value();
    CHECK(close(y.reshape({kNodes, kHeads * kWidth}), expected, 1e-6));  // coefficients are float32
    CHECK(check_gradients([&](const auto& in) { return masked(edges, in[0], [&] { return f(in[1]); }); },
                          {mask, x})
              .passed);
  };
  const auto with = [&](const Tensor& weight) {
    return AttentionOptions{.training = false, .edge_attr = Var(attr), .edge_weight = Var(weight)};
  };
  check([&](const Var& in) { return gat_attention(edges, in, att, att2, 0.2f, with(to_heads)); }, false);
  check([&](const Var& in) { return gatv2_attention(edges, q, in, att, 0.2f, with(to_all)); }, false);
  check([&](const Var& in) { return dot_attention(edges, q, k, in, with(to_all)); }, true);
  const Var beta(draw.normal({1}));
  check(
      [&](const Var& in) {
        return cosine_attention(edges, reshape(in, {kNodes, kHeads * kWidth}), beta);
      },
      false);
}

TEST_CASE("an edge mask finds its edges in relations with loops, and refuses others") {
  const Relation edges = few_edges();
  EdgeMask mask(edges);
  CHECK_FALSE(mask.places_in("op", edges));
  // The loop 2 -> 2 counts as one of those that the layer added.
  const Relation looped = with_self_loops(edges, SelfLoops::completed).relation;
  const EdgeIndex mine = edges.edge_index(), theirs = looped.edge_index();
  const auto places = mask.places_in("op", looped).to_vector<int32_t>();
  std::set<int32_t> found;
  for (size_t k = 0; k < places.size(); ++k) {
    const int32_t src = theirs.src.data<int32_t>()[k], dst = theirs.dst.data<int32_t>()[k];
    if (src == dst) {
      CHECK(places[k] == edges.num_edges());
      continue;
    }
    CHECK(found.insert(places[k]).second);
    CHECK(mine.src.data<int32_t>()[places[k]] == src);
    CHECK(mine.dst.data<int32_t>()[places[k]] == dst);
  }
  CHECK(std::ssize(found) == edges.num_edges() - 1);
  CHECK_ERROR_HAS((void)mask.places_in("op", edges.reversed()),
                  "op: 9 edges that are not the 9 of the edge mask");
  CHECK_ERROR_HAS(mask.set(Var(Tensor::zeros({3}))), "EdgeMask: mask is");
}

TEST_CASE("outside of its scopes no mask is in force, and only chosen leaves take gradients") {
  const Relation edges = few_edges();
  const Var x = Var::parameter(Tensor::full({kNodes, 1}, 1.0, DType::f32)),
            w = Var::parameter(Tensor::full({1, 1}, 2.0, DType::f32));
  CHECK(NoEdgeMask::in_force());
  {
    EdgeMask scope(edges);
    scope.set(Var(Tensor::zeros({edges.num_edges()})));
    CHECK_FALSE(NoEdgeMask::in_force());
    CHECK(values(aggregate(edges, x).value()) == Numbers(uz(kNodes), 0.0));
    const NoEdgeMask none;
    CHECK(values(aggregate(edges, x).value())[1] == 1.0);
  }
  {
    const GradientsOnlyOf only({x});
    sum(matmul(x, w)).backward();
  }
  CHECK(values(x.grad()) == Numbers(uz(kNodes), 2.0));
  CHECK_FALSE(w.grad());
  {
    const FeatureVariable variable(x);
    const Var y = linear(Features(x.value()), w);
    CHECK(variable.used());
    sum(y).backward();
  }
  CHECK(values(x.grad()) == Numbers(uz(kNodes), 4.0));
}
