#include "../op_table.h"
#include "../structures.h"
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/edge/edge.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("edge kernels and their gradients, by the table of ops") {
  hold(ops::edge_kernels(), graphs_of_rows());
}

TEST_CASE("edge_softmax of large logits is finite, -inf has weight 0, and NaN is passed on") {
  for (Device device : devices())
    for (int64_t repeats : {1, 3000}) {  // of the first row: a short one, and one in parts
      CAPTURE(repeats);
      const Edges edges(random_structure({3 * repeats, 2, 2, 1}, 5, device), false);
      std::vector<float> e;
      for (int64_t k = 0; k < repeats; ++k) e.insert(e.end(), {3e38f, -INFINITY, 3e38f});
      e.insert(e.end(), {-3e38f, -3e38f, 1.0f, NAN, -1e4f});
      Tensor y = Tensor::empty({edges.count()}, DType::f32, device);
      kernels::edge_softmax({.a = edges.a(), .e = Tensor::from(e, device), .y = y});
      const Numbers found = values(y);
      const double share = 0.5 / static_cast<double>(repeats);
      for (size_t k = 0; k + 5 < found.size(); ++k)
        REQUIRE(found[k] == doctest::Approx(k % 3 == 1 ? 0.0 : share));
      const double* rest = found.data() + 3 * repeats;
      CHECK(rest[0] == 0.5);
      CHECK(rest[1] == 0.5);
      CHECK(std::isnan(rest[2]));
      CHECK(std::isnan(rest[3]));
      CHECK(rest[4] == 1.0);
    }
}

TEST_CASE("errors of edge kernels name the mismatch") {
  const Edges edges(random_structure({2, 1}, 3), false);
  const Tensor x = random_tensor({3, 6});
  Tensor y = Tensor::empty({2, 6}), e = Tensor::empty({3, 2}), short_e = Tensor::empty({2});
  CHECK_ERROR(kernels::spmm({.a = edges.a(random_tensor({3, 4})), .x = x, .y = y}),
              "spmm: values is [3, 4] float32 on cpu, but 6 features do not divide into 4 heads");
  CHECK_THROWS_AS(kernels::spmm({.a = edges.a(random_tensor({3, 0})), .x = x, .y = y}), Error);
  CHECK_ERROR(kernels::edge_softmax({.a = edges.a(), .e = short_e, .y = short_e}),
              "edge_softmax: e is [2] float32 on cpu, for 3 entries");
  Tensor narrow = Tensor::empty({3, 2}, DType::bf16);
  CHECK_ERROR(kernels::edge_softmax({.a = edges.a(), .e = narrow, .y = narrow}),
              "edge_softmax: y is [3, 2] bfloat16 on cpu, expected [3, 2] float32 on cpu");
  CHECK_THROWS_AS(kernels::edge_softmax_backward({.a = edges.a(), .y = narrow, .dy = narrow, .de = narrow}),
                  Error);
  CHECK_THROWS_AS(
      kernels::edge_add({.a = edges.a(), .l = random_tensor({2}), .r = random_tensor({3, 2}), .e = e}),
      Error);
  CHECK_THROWS_AS(kernels::edge_sum({.a = edges.a(), .e = e, .y = short_e}), Error);
}
