#include "../kernels/cases.h"
#include "relation_cases.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/neighbor_reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/optim/captured_step.h>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<Reduce> kAll{Reduce::sum, Reduce::mean, Reduce::max, Reduce::min, Reduce::var, Reduce::std};

}  // namespace

TEST_CASE("aggregate computes max, min, var and std for any edge numbering") {
  for_relations(93, [](const Relation& relation, Draw& draw) {
    const Tensor x = draw.normal({relation.num_src(), 6});
    const Tensor cube = x.reshape({relation.num_src(), 2, 3});
    const Dense messages = gathered(Dense(x), relation.edge_index().src);
    std::vector<Dense> all;
    for (Reduce reduce : kAll) {
      CAPTURE(name_of(reduce));
      all.push_back(reduced(relation, messages, reduce));
      CHECK(close(aggregate(relation, x, {.reduce = reduce}).value(), all.back().data, 1e-12));
      const Var y = aggregate(relation, cube, {.reduce = reduce});
      CHECK(y.shape() == Shape{relation.num_dst(), 2, 3});
      CHECK(close(y.value(), all.back().data, 1e-12));
    }
    CHECK(close(aggregate_all(relation, x, kAll).value(), joined(all).data, 1e-12));
  });
}

TEST_CASE("gradients of reductions over neighbours, alone and together") {
  for_relations(94, [](const Relation& relation, Draw& draw) {
    const Tensor x = draw.normal({relation.num_src(), 5});
    for (Reduce reduce : kAll) {
      CAPTURE(name_of(reduce));
      check([&](const auto& v) { return aggregate(relation, v[0], {.reduce = reduce}); }, {x});
      check([&](const auto& v) { return aggregate_all(relation, v[0], {reduce}); }, {x});
    }
    const std::vector<std::vector<Reduce>> sets{kAll,
                                                {Reduce::mean, Reduce::min, Reduce::max, Reduce::std},
                                                {Reduce::max, Reduce::sum},
                                                {Reduce::std, Reduce::var}};
    for (const std::vector<Reduce>& set : sets)
      check([&](const auto& v) { return aggregate_all(relation, v[0], set); }, {x});
    check([&](const auto& v) { return aggregate(relation, v[0], {.reduce = Reduce::max}); },
          {draw.normal({relation.num_src(), 2, 3})});
  });
}

TEST_CASE("gradients of weighted max and min, by features and by weights") {
  for_relations(99, [](const Relation& relation, Draw& draw) {
    const Tensor x = draw.normal({relation.num_src(), 6}), w = draw.normal({relation.num_edges()});
    const Dense weights(w);
    Dense terms = gathered(Dense(x), relation.edge_index().src);
    for (int64_t e = 0; e < terms.rows; ++e)
      for (int64_t f = 0; f < 6; ++f) terms(e, f) *= weights(e, 0);
    for (Reduce reduce : {Reduce::max, Reduce::min}) {
      CAPTURE(name_of(reduce));
      const Numbers expected = reduced(relation, terms, reduce).data;
      CHECK(close(aggregate(relation, x, {.reduce = reduce, .weight = w}).value(), expected, 1e-12));
      const auto weighed = [&](const auto& v) {
        return aggregate(relation, v[0], {.reduce = reduce, .weight = v[1]});
      };
      check_each(weighed, {x, w});
      check(weighed, {draw.normal({relation.num_src(), 2, 3}), w});
    }
  });
}

TEST_CASE("a deviation of 0 has no gradient, and ties of a maximum give it to the first") {
  for (Device device : devices()) {
    // Target 0 has three equal sources, target 1 only one.
    const Relation relation = Relation::from_coo(4, 2, Tensor::from<int32_t>({2, 1, 3, 0}, device),
                                                 Tensor::from<int32_t>({0, 0, 0, 1}, device));
    const Var x = Var::parameter(Tensor::full({4, 2}, 3.5, DType::f32, device));
    const Var y = aggregate_all(relation, x, {Reduce::std, Reduce::max});
    CHECK(close(y.value(), {0, 0, 3.5, 3.5, 0, 0, 3.5, 3.5}, 0.0));
    y.backward(Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}, device));
    CHECK(close(x.grad(), {7, 8, 3, 4, 0, 0, 0, 0}, 1e-7));
  }
}

TEST_CASE("unsorted rows: ties go to the first edge, and a parallel edge counts once, in both directions") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::f64}) {
      // Targets 0 and 1 see 3, 1, 3 and 2, 0, 2, 1, as a sampled block has them.
      Csr in_edges;
      in_edges.rows = 2;
      in_edges.cols = 4;
      in_edges.offsets = Tensor::from<int64_t>({0, 3, 7}, device);
      in_edges.indices = Tensor::from<int32_t>({3, 1, 3, 2, 0, 2, 1}, device);
      in_edges.ascending = false;
      const Relation block = Relation::from_csr(in_edges);
      const Var x = Var::parameter(Tensor::full({4, 1}, 3.5, dtype, device));
      aggregate_all(block, x, {Reduce::max, Reduce::min})
          .backward(Tensor::from<float>({1, 2, 3, 4}, {2, 2}, device).to(dtype));
      CHECK(close(x.grad(), {0, 0, 7, 3}, 0.0));
      // Turned round, target 3 sees source 0 twice, and target 2 source 1.
      const Var z = Var::parameter(Tensor::from<float>({1, 2}, {2, 1}, device).to(dtype));
      aggregate_all(block.reversed(), z, {Reduce::max})
          .backward(Tensor::from<float>({1, 2, 3, 4}, {4, 1}, device).to(dtype));
      CHECK(close(z.grad(), {4, 6}, 0.0));
    }
}

TEST_CASE("reductions over neighbours allocate no tensor of edges x features") {
  constexpr int64_t kNodes = 200, kEdges = 60'000, kWidth = 128;
  constexpr size_t kFeatures = kNodes * kWidth * sizeof(float);
  constexpr size_t kForbidden = kEdges * kWidth * sizeof(float);
  for (const auto& [all, weighted] : {std::pair{false, false}, {false, true}, {true, false}})
    on_devices(96, DType::f32, [&](Draw& draw, Device device) {
      CAPTURES(all, weighted);
      const Graph graph = draw.graph(kNodes, kEdges);
      const std::vector<Reduce> set =
          all ? std::vector<Reduce>{Reduce::mean, Reduce::min, Reduce::max, Reduce::std}
              : std::vector<Reduce>{Reduce::max};
      const Var x = Var::parameter(draw.normal({kNodes, kWidth}));
      const Tensor dy = draw.normal({kNodes, static_cast<int64_t>(set.size()) * kWidth});
      const Var w = weighted ? Var::parameter(draw.normal({kEdges})) : Var();
      const auto step = [&] {
        (weighted ? aggregate(graph, x, {.reduce = Reduce::max, .weight = w}) : aggregate_all(graph, x, set))
            .backward(dy);
      };
      step();
      // The output, the winner, the gradient and on a GPU its sums of 8 bytes and parts of heavy rows; of
      // four reductions as much of each, and of var and std the terms and their sums. A part has 32 edges.
      const size_t of_parts = device.is_cuda() ? (all ? 5 : 2) * kForbidden / 32 : 0;
      const size_t allowed = (all ? 30 : 12) * kFeatures + of_parts + (size_t{1} << 20);
      CHECK(allowed < kForbidden / 3);
      CHECK(peak_memory(device, step) < allowed);
    });
}

TEST_CASE("reductions that are not recorded save nothing") {
  on_devices(97, DType::f32, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(300, 2000);
    const Var x = Var::parameter(draw.normal({300, 64}));
    const Var recorded = aggregate(graph, x, {.reduce = Reduce::max});
    const NoGrad off;
    (void)aggregate(graph, x, {.reduce = Reduce::max});  // derived structures are cached now
    const size_t before = memory_stats(device).current;
    const Var y = aggregate(graph, x, {.reduce = Reduce::max});
    CHECK(memory_stats(device).current - before < 300 * 64 * sizeof(float) + 4096);
    CHECK(same_bits(y.value(), recorded.value()));
    CHECK(!y.requires_grad());
  });
}

TEST_CASE("gradients of reductions have the same bits on any number of threads, eager and captured") {
  on_devices(98, DType::f32, [&](Draw& draw, Device) {
    const Graph graph = draw.graph(500, 20000);
    const Tensor in = draw.normal({500, 48}), dy = draw.normal({500, 4 * 48});
    const Tensor weight = draw.normal({20000}), one = draw.normal({500, 48});
    const auto gradient = [&](bool capture) {
      Var x = Var::parameter(in.clone()), w = Var::parameter(weight.clone());
      optim::CapturedStep step(
          [&] {
            x.zero_grad();
            w.zero_grad();
            const Var y = aggregate_all(graph, x, {Reduce::mean, Reduce::min, Reduce::max, Reduce::std});
            y.backward(dy);
            aggregate(graph, x, {.reduce = Reduce::min, .weight = w}).backward(one);
            return y;
          },
          {.capture = capture});
      for (int k = 0; k < 4; ++k) step();
      return cat({Var(x.grad().reshape({500 * 48})), Var(w.grad())}, 0).value();
    };
    const Tensor eager = gradient(false);
    CHECK(same_bits(gradient(true), eager));
    CHECK(same_bits_on_any_threads([&] { return gradient(false); }));
  });
}

TEST_CASE("aggregate_all rejects mismatched arguments") {
  const Relation relation =
      Relation::from_coo(4, 3, Tensor::from<int32_t>({0, 3}), Tensor::from<int32_t>({2, 1}));
  const Var x = Tensor::zeros({4, 6});
  CHECK(error_of([&] {
          aggregate_all(relation, Tensor::zeros({3, 6}), {Reduce::max});
        }) == "aggregate_all: x is [3, 6], expected [N, F] with 4 rows");
  CHECK(error_of([&] { aggregate_all(relation, x, {}); }) == "aggregate_all: no reduction is requested");
  CHECK(error_of([&] {
          aggregate_all(relation, x, {Reduce::std, Reduce::max, Reduce::std});
        }) == "aggregate_all: std is requested twice");
}
