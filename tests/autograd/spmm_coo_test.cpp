// Aggregations over an unsorted list, compared with those over sorted rows.

#include "../reference/plain.h"
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/kernels/compute_context.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Parallel edges and, between equal sides, loops among them.
Relation random_relation(int32_t sources, int32_t targets, int64_t edges, Device device = {}) {
  return Relation::from_coo(sources, targets, random_ints(edges, 0, sources, device),
                            random_ints(edges, 0, targets, device));
}

}  // namespace

TEST_CASE("values and gradients over a list are those over sorted rows, to rounding") {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      CAPTURE(name_of(dtype));
      const double tolerance = dtype == DType::bf16 ? 1e-2 : 1e-5;
      const Relation relation = random_relation(70, 70, 900, device);
      const DType of_edges = accumulator_dtype(dtype);
      const Tensor x = random_tensor({70, 20}, dtype, device), w = random_tensor({900}, of_edges, device);
      const Tensor w_heads = random_tensor({900, 4}, of_edges, device);
      const auto compare = [&](const auto& f, const std::vector<Tensor>& inputs) {
        const auto run = [&](Aggregation method) {
          const ComputeScope scope({.aggregation = method});
          return with_gradients(f, inputs);
        };
        const auto scattered = run(Aggregation::scatter), sorted = run(Aggregation::reduce);
        for (size_t k = 0; k < sorted.size(); ++k) CHECK(close_to_scale(scattered[k], sorted[k], tolerance));
      };
      for (Reduce reduce : {Reduce::sum, Reduce::mean}) {
        compare([&](const auto& v) { return aggregate(relation, v[0], {.reduce = reduce}); }, {x});
        for (const Tensor& weight : {w, w_heads})
          compare(
              [&](const auto& v) { return aggregate(relation, v[0], {.reduce = reduce, .weight = v[1]}); },
              {x, weight});
      }
      const SparseMatrix looped(relation.loops_appended(), random_tensor({970}, DType::f32, device));
      compare([&](const auto& v) { return aggregate(looped, v[0], v[1], Activation::relu); },
              {x, random_tensor({20}, dtype, device)});
    }
}

TEST_CASE("aggregation over a list allocates no tensor of edges x features") {
  const ComputeScope scope({.aggregation = Aggregation::scatter});
  constexpr int64_t kNodes = 2000, kEdges = 120000, kWidth = 64;
  for (Device device : devices()) {
    const Relation relation = random_relation(kNodes, kNodes, kEdges, device);
    const Var x = Var::parameter(random_tensor({kNodes, kWidth}, DType::f32, device));
    const Var w = Var::parameter(random_tensor({kEdges}, DType::f32, device));
    const auto step = [&] { sum(aggregate(relation, x, {.weight = w})).backward(); };
    // Nodes x features a few times (8 bytes on a GPU), and the edges' own tensors.
    CHECK(peak_memory(device, step) < uz(kEdges * kWidth * 4 / 3));
  }
}
