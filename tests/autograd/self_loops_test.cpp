#include "../reference/plain.h"
#include <adjoint/autograd/segment.h>
#include <adjoint/autograd/self_loops.h>

using namespace adj;
using namespace adj::test;

namespace {

Relation with_loops(Device device) {
  const std::vector<int32_t> src{0, 1, 2, 5, 1, 0, 3, 2}, dst{1, 1, 0, 3, 1, 1, 3, 0};
  return Relation::from_coo(6, 4, Tensor::from(src, device), Tensor::from(dst, device));
}

}  // namespace

TEST_CASE("with_self_loops moves edge values with their edges, and gradients back") {
  for (SelfLoops kind : {SelfLoops::removed, SelfLoops::completed, SelfLoops::renewed, SelfLoops::added})
    for (const auto& [shape, loops] : {std::pair{Shape{8}, Shape{4}}, {Shape{8, 3}, Shape{4, 3}}})
      on_devices(320, DType::f64, [&](Draw& draw, Device device) {
        CAPTURE(static_cast<int>(kind));
        const LoopedRelation relation = with_self_loops(with_loops(device), kind);
        const Tensor x = draw.normal(shape), added = draw.normal(loops);
        const Dense input(x), fill(added), y(with_self_loops(relation, x, added).value());
        const auto origin = relation.origin.to_vector<int32_t>();
        REQUIRE(y.rows == static_cast<int64_t>(origin.size()));
        for (int64_t k = 0; k < y.rows; ++k)
          for (int64_t f = 0; f < y.cols; ++f) {
            const int32_t e = origin[uz(k)];
            CHECK(y(k, f) == (e < 8 ? input(e, f) : fill(e - 8, f)));
          }
        check([&](const auto& v) { return with_self_loops(relation, v[0], v[1]); }, {x, added});
        CHECK_ERROR_HAS(with_self_loops(relation, Var(draw.normal({7}))), "[7]");
      });
}

TEST_CASE("edge_sum adds the values of a target's edges") {
  for (const Shape& shape : {Shape{8}, Shape{8, 3}})
    on_devices(321, DType::f64, [&](Draw& draw, Device device) {
      const Relation relation = with_loops(device);
      const Tensor e = draw.normal(shape);
      CHECK(close(edge_sum(relation, e).value(), reduced(relation, Dense(e), Reduce::sum).data, 1e-12));
      check([&](const auto& v) { return edge_sum(relation, v[0]); }, {e});
      CHECK_ERROR_HAS(edge_sum(relation, Var(draw.normal({7}))), "[7]");
    });
}

TEST_CASE("segment_expand copies each segment's value to its rows") {
  on_devices(322, DType::f64, [&](Draw& draw, Device device) {
    const Tensor offsets = Tensor::from<int64_t>({0, 3, 3, 4, 9}, device), x = draw.normal({4, 2});
    const Dense input(x), y(segment_expand(x, offsets, 9).value());
    const std::vector<int64_t> segment{0, 0, 0, 2, 3, 3, 3, 3, 3};
    REQUIRE(y.rows == 9);
    for (int64_t i = 0; i < 9; ++i)
      for (int64_t f = 0; f < 2; ++f) CHECK(y(i, f) == input(segment[uz(i)], f));
    check([&](const auto& v) { return segment_expand(v[0], offsets, 9); }, {x});
    CHECK_ERROR_HAS(segment_expand(Var(draw.normal({3, 2})), offsets, 9), "[3, 2]");
  });
}
