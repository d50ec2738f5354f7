#include "../reference/plain.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/reduce.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("aggregate with a matrix equals plain loops") {
  for (bool has_values : {true, false})
    on_devices(60, DType::f64, [&](Draw& draw, Device) {
      const SparseMatrix a = draw.sparse(41, 29, 300, has_values);
      const Tensor x = draw.normal({29, 5}), bias = draw.normal({5});
      const Dense plain = dense_of(a) * Dense(x), biased = plus_row(plain, bias);
      CHECK(close(aggregate(a, x).value(), plain.data, 1e-12));
      CHECK(close(aggregate(a, x, bias).value(), biased.data, 1e-12));
      CHECK(close(aggregate(a, x, {}, Activation::relu).value(), mapped(plain, relu_of).data, 1e-12));
      CHECK(close(aggregate(a, x, bias, Activation::relu).value(), mapped(biased, relu_of).data, 1e-12));
    });
}

TEST_CASE("gradients of aggregate with a matrix, also with weights of float32") {
  for (bool has_values : {true, false})
    for (bool kept : {false, true})
      for (Activation activation : {Activation::none, Activation::relu})
        on_devices(61, DType::f64, [&](Draw& draw, Device) {
          CAPTURES(has_values, kept, name_of(activation));
          SparseMatrix a = draw.sparse(8, 6, 25, has_values);
          if (kept) a.keep_adjoint();
          const Tensor x = draw.off_zero({6, 3}), bias = draw.off_zero({3});
          check_each([&](const auto& v) { return aggregate(a, v[0], v[1], activation); }, {x, bias});
          check([&](const auto& v) { return aggregate(a, v[0]); }, {x});
          if (!has_values) return;
          const SparseMatrix single = a.with_values(a.values().to(DType::f32));
          check([&](const auto& v) { return aggregate(single, v[0]); }, {x});
        });
}

TEST_CASE("no aggregation allocates a tensor of edges x features") {
  constexpr int64_t kNodes = 150, kEdges = 120'000, kWidth = 96;
  constexpr size_t kForbidden = kEdges * kWidth * sizeof(float);
  // A few vectors over the edges, and a few matrices over the nodes.
  constexpr size_t kAllowed =
      4 * kEdges * sizeof(float) + 12 * kNodes * kWidth * sizeof(float) + (size_t{1} << 20);
  static_assert(kAllowed < kForbidden / 8);
  on_devices(65, DType::f32, [&](Draw& draw, Device device) {
    const SparseMatrix a = draw.sparse(kNodes, kNodes, kEdges);
    (void)a.relation().transposed();
    (void)a.relation().transposed_order();
    const Var x = Var::parameter(draw.normal({kNodes, kWidth}));
    const Tensor dy = draw.normal({kNodes, kWidth});
    for (int op = 0; op < 4; ++op) {
      CAPTURE(op);
      const Var w = op == 3 ? Var(a.values()) : Var::parameter(a.values());
      const Var input = op == 2 ? Var(x.value()) : x;
      const auto step = [&] {
        (op == 0 ? aggregate(a, x) : aggregate(a.relation(), input, {.weight = w})).backward(dy);
      };
      CHECK(peak_memory(device, step) < kAllowed);
    }
  });
}

TEST_CASE("aggregations reject mismatched arguments, naming the shapes") {
  Draw draw(66);
  const SparseMatrix a = draw.sparse(8, 6, 25);
  const Var x = Tensor::zeros({7, 3}, DType::f64), fits = Tensor::zeros({6, 3}, DType::f64);
  CHECK_ERROR_HAS(aggregate(a, x), "[7, 3]");
  CHECK_ERROR_HAS(aggregate(a, x), "6 columns");
  CHECK_ERROR_HAS(aggregate(a, fits, {}, Activation::gelu), "gelu");
  CHECK_THROWS_AS(aggregate(a, fits, Tensor::zeros({2}, DType::f64)), Error);
  CHECK_ERROR_HAS(aggregate(a.relation(), fits, {.weight = Tensor::zeros({24}, DType::f64)}), "[24]");
}
