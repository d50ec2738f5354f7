#include "relation_cases.h"
#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/data/generators.h>
#include <adjoint/graph/block.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/optimizer.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("aggregate sums and averages edge values by edge number") {
  for_relations(80, [](const Relation& relation, Draw& draw) {
    constexpr int64_t kHeads = 2, kWidth = 3;
    const int64_t edges = relation.num_edges(), targets = relation.num_dst();
    const Tensor x = draw.normal({relation.num_src(), kHeads * kWidth});
    const Tensor w = draw.normal({edges, kHeads}), w1 = draw.normal({edges});
    const Dense X = gathered(Dense(x), relation.edge_index().src), W(w), W1(w1);
    Dense weighted = X, by_head = X;
    for (int64_t e = 0; e < edges; ++e)
      for (int64_t f = 0; f < X.cols; ++f) {
        weighted(e, f) *= W1(e, 0);
        by_head(e, f) *= W(e, f / kWidth);
      }
    for (Reduce reduce : {Reduce::sum, Reduce::mean}) {
      CAPTURE(name_of(reduce));
      const Numbers heads = reduced(relation, by_head, reduce).data;
      CHECK(close(aggregate(relation, x, {.reduce = reduce}).value(), reduced(relation, X, reduce).data,
                  1e-12));
      CHECK(close(aggregate(relation, x, {.reduce = reduce, .weight = w1}).value(),
                  reduced(relation, weighted, reduce).data, 1e-12));
      CHECK(close(aggregate(relation, x, {.reduce = reduce, .weight = w}).value(), heads, 1e-12));
      const Tensor cube = x.reshape({relation.num_src(), kHeads, kWidth});
      const Var y = aggregate(relation, cube, {.reduce = reduce, .weight = w});
      CHECK(y.shape() == Shape{targets, kHeads, kWidth});
      CHECK(close(y.value(), heads, 1e-12));
    }
  });
}

TEST_CASE("gradients of aggregate, together and alone") {
  for_relations(81, [](const Relation& relation, Draw& draw) {
    for (const auto& [width, heads] : {std::pair{1, 1}, {6, 3}, {9, 3}})
      for (Reduce reduce : {Reduce::sum, Reduce::mean}) {
        CAPTURES(width, name_of(reduce));
        const Tensor x = draw.normal({relation.num_src(), width});
        check([&](const auto& v) { return aggregate(relation, v[0], {.reduce = reduce}); }, {x});
        for (const Shape& shape : {Shape{relation.num_edges()}, Shape{relation.num_edges(), heads}})
          check_each(
              [&](const auto& v) { return aggregate(relation, v[0], {.reduce = reduce, .weight = v[1]}); },
              {x, draw.normal(shape)});
      }
  });
}

TEST_CASE("edge_dot and edge_add give a value for every edge") {
  for_relations(82, [](const Relation& relation, Draw& draw) {
    const int64_t edges = relation.num_edges();
    const Tensor q = draw.normal({relation.num_dst(), 6}), k = draw.normal({relation.num_src(), 6});
    const Dense Q(q), K(k);
    Dense one(edges, 1), two(edges, 2), sums(edges, 6);
    each_edge(relation, [&](int32_t j, int32_t i, int64_t e) {
      for (int64_t f = 0; f < 6; ++f) {
        one(e, 0) += Q(i, f) * K(j, f);
        two(e, f / 3) += Q(i, f) * K(j, f);
        sums(e, f) = Q(i, f) + K(j, f);
      }
    });
    CHECK(edge_dot(relation, q, k).shape() == Shape{edges});
    CHECK(close(edge_dot(relation, q, k).value(), one.data, 1e-12));
    CHECK(edge_dot(relation, q, k, 2).shape() == Shape{edges, 2});
    CHECK(close(edge_dot(relation, q, k, 2).value(), two.data, 1e-12));
    const Tensor q3 = q.reshape({relation.num_dst(), 2, 3}), k3 = k.reshape({relation.num_src(), 2, 3});
    CHECK(same_bits(edge_dot(relation, q3, k3).value(), edge_dot(relation, q, k, 2).value()));
    CHECK(close(edge_add(relation, q, k).value(), sums.data, 1e-12));
    check([&](const auto& v) { return edge_dot(relation, v[0], v[1]); }, {q, k});
    check([&](const auto& v) { return edge_dot(relation, v[0], v[1], 2); }, {q, k});
    check([&](const auto& v) { return edge_dot(relation, v[0], v[1]); }, {q3, k3});
    check([&](const auto& v) { return edge_dot(relation, q, v[0], 3); }, {k});
    check([&](const auto& v) { return edge_add(relation, v[0], v[1]); }, {q, k});
    check([&](const auto& v) { return edge_add(relation, v[0], v[1]); },
          {draw.normal({relation.num_dst()}), draw.normal({relation.num_src()})});
  });
}

TEST_CASE("edge_softmax sums to one over the edges into each target, and its gradient is right") {
  for_relations(83, [](const Relation& relation, Draw& draw) {
    for (int64_t heads : {1, 3}) {
      const Tensor e = draw.normal({relation.num_edges(), heads});
      Dense expected = mapped(Dense(e), [](double v) { return std::exp(v); });
      const Dense total = gathered(reduced(relation, expected, Reduce::sum), relation.edge_index().dst);
      for (size_t k = 0; k < expected.data.size(); ++k) expected.data[k] /= total.data[k];
      CHECK(close(edge_softmax(relation, e).value(), expected.data, 1e-12));
      check([&](const auto& v) { return edge_softmax(relation, v[0]); }, {e});
    }
    check([&](const auto& v) { return edge_softmax(relation, v[0]); }, {draw.normal({relation.num_edges()})});
  });
}

TEST_CASE("attention from edge operations allocates no tensor of edges x features") {
  constexpr int64_t kNodes = 150, kEdges = 60'000, kHeads = 4, kWidth = 48;
  constexpr size_t kFeatures = kNodes * kHeads * kWidth * sizeof(float),
                   kOfEdges = kEdges * kHeads * sizeof(float);
  constexpr size_t kForbidden = kEdges * kHeads * kWidth * sizeof(float);
  constexpr size_t kAllowed = 8 * kOfEdges + 12 * kFeatures + (size_t{1} << 20);
  static_assert(kAllowed < kForbidden / 4);
  for (bool sums : {false, true})
    on_devices(86, DType::f32, [&](Draw& draw, Device device) {
      CAPTURE(sums);
      const Graph graph = draw.graph(kNodes, kEdges);
      (void)graph.relation().transposed_order();
      const Var x = Var::parameter(draw.normal({kNodes, kHeads * kWidth}));
      const Var terms = Var::parameter(draw.normal({kNodes, kHeads}));
      const Tensor dy = draw.normal({kNodes, kHeads * kWidth});
      const auto step = [&] {
        const Var logits =
            sums ? leaky_relu(edge_add(graph, terms, terms), 0.2f) : edge_dot(graph, x, x, kHeads);
        aggregate(graph, x, {.weight = edge_softmax(graph, logits)}).backward(dy);
      };
      CHECK(peak_memory(device, step) < kAllowed);
    });
}

TEST_CASE("edge operations reject mismatched arguments, naming the shapes") {
  const Relation relation =
      Relation::from_coo(4, 3, Tensor::from<int32_t>({0, 3}), Tensor::from<int32_t>({2, 1}));
  const Var sources = Tensor::zeros({4, 6}), targets = Tensor::zeros({3, 6}), e = Tensor::zeros({2, 2});
  CHECK_ERROR_HAS(aggregate(relation, targets), "[3, 6]");
  CHECK_ERROR_HAS(aggregate(relation, sources, {.reduce = Reduce::std, .weight = Tensor::zeros({2})}),
                  "aggregate: weight is [2], but std takes no weights: expected a sum, mean, max or min");
  CHECK_ERROR_HAS(aggregate(relation, sources, {.reduce = Reduce::max, .weight = e}),
                  "aggregate: weight is [2, 2], but max takes one weight per edge: expected [M]");
  CHECK_ERROR_HAS(aggregate(relation, sources, {.weight = Tensor::zeros({3})}), "[3]");
  CHECK_ERROR_HAS(aggregate(relation, sources, {.weight = Tensor::zeros({2, 4})}), "4 heads");
  CHECK_ERROR_HAS(aggregate(relation, Tensor::zeros({4, 3, 2}), {.weight = e}), "[4, 3, 2]");
  CHECK_ERROR_HAS(
      aggregate(relation, sources, {.weight = e.value().to(DType::bf16)}),
      "aggregate: weight is [2, 2] bfloat16 on cpu, x is [4, 6] float32 on cpu, expected one dtype");
  CHECK_ERROR_HAS(aggregate(relation, sources.value().to(DType::bf16), {.weight = e.value().to(DType::f64)}),
                  "expected float32 or bfloat16 weights");
  CHECK_ERROR_HAS(edge_dot(relation, sources, sources), "3 rows");
  CHECK_ERROR_HAS(edge_dot(relation, targets, Tensor::zeros({4, 5})), "[4, 5]");
  CHECK_ERROR_HAS(edge_dot(relation, targets, sources, 4), "4 heads");
  CHECK_ERROR_HAS(edge_add(relation, Tensor::zeros({3, 2}), Tensor::zeros({4, 3})), "[4, 3]");
  CHECK_ERROR_HAS(edge_softmax(relation, Tensor::zeros({3})), "[3]");
}
