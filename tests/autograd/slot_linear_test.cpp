#include "../reference/plain.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/graph/typed_edges.h>

using namespace adj;
using namespace adj::test;

namespace {

/// Edges to targets in three stretches, each of types of its own and one that it shares with the next, in
/// any order; the last targets have no edges.
struct TypedEdges {
  std::vector<int32_t> src, dst, type;

  TypedEdges(Draw& draw, int64_t sources, int64_t edges) {
    const std::vector<std::vector<int32_t>> types{{0, 3}, {3, 1}, {5}};
    const auto of = draw.ints(edges, 0, 6).to_vector<int32_t>(),
               at = draw.ints(edges, 0, 5).to_vector<int32_t>();
    src = draw.ints(edges, 0, static_cast<int32_t>(sources)).to_vector<int32_t>();
    for (size_t e = 0; e < src.size(); ++e) {
      const int32_t stretch = of[e] % 3;
      const auto& own = types[uz(stretch)];
      type.push_back(own[uz(of[e]) % own.size()]);
      dst.push_back(stretch * 5 + at[e]);
    }
  }
  Relation relation(int64_t sources, Device device) const {
    return Relation::from_coo(sources, 17, Tensor::from(src, device), Tensor::from(dst, device));
  }
};

}  // namespace

TEST_CASE("sums of slots times their matrices equal loops over the edges, and gradients differences") {
  on_devices(312, DType::f64, [&](Draw& draw, Device device) {
    constexpr int64_t kSources = 9, kTypes = 7, kIn = 3, kOut = 4;
    const TypedEdges edges(draw, kSources, 200);
    const Relation relation = edges.relation(kSources, device);
    const Tensor types = Tensor::from(edges.type, device);
    const auto slots = typed_slots(relation, types, kTypes, 0);
    REQUIRE(slots != nullptr);
    CHECK(slots->edges.num_edges() == 200);
    CHECK(slots->edges.num_dst() == 25);  // 5 targets of two types, 5 of two, 5 of one
    const Tensor x = draw.normal({kSources, kIn}), w = draw.normal({kTypes, kIn, kOut}),
                 own = draw.normal({17, 2}), own_w = draw.normal({2, kOut}), bias = draw.normal({kOut});
    for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
      std::map<std::pair<int32_t, int32_t>, double> count;
      for (size_t e = 0; e < edges.src.size(); ++e) ++count[{edges.type[e], edges.dst[e]}];
      Dense expected(17, kOut);
      const Dense features(x), maps(w.reshape({kTypes * kIn, kOut})), root = Dense(own) * Dense(own_w),
                                                                      shift(bias.reshape({1, kOut}));
      for (int64_t t = 0; t < 17; ++t)
        for (int64_t j = 0; j < kOut; ++j) expected(t, j) = root(t, j) + shift(0, j);
      for (size_t e = 0; e < edges.src.size(); ++e)
        for (int64_t i = 0; i < kIn; ++i)
          for (int64_t j = 0; j < kOut; ++j)
            expected(edges.dst[e], j) +=
                features(edges.src[e], i) * maps(edges.type[e] * kIn + i, j) /
                (reduce == Reduce::mean ? count[{edges.type[e], edges.dst[e]}] : 1.0);
      const auto run = [&](const std::vector<Var>& v) {
        return slot_linear(aggregate(slots->edges, v[0], {.reduce = reduce}), v[1], *slots, 17,
                           {v[2], v[3], v[4]});
      };
      const std::vector<Tensor> inputs{x, w, own, own_w, bias};
      CHECK(close(run({Var(x), Var(w), Var(own), Var(own_w), Var(bias)}).value(), expected.data, 1e-12));
      check_each(run, inputs);
    }
    check_each([&](const std::vector<Var>& v) { return slot_linear(v[0], v[1], *slots, 17); },
               {draw.normal({25, kIn}), w});
    check_each([&](const std::vector<Var>& v) { return slot_linear(v[0], v[1], *slots, 17, {.bias = v[2]}); },
               {draw.normal({25, kIn}), w, bias});
  });
}

TEST_CASE("slots are made for targets in the order of their types, and for enough edges") {
  Draw draw(313);
  const TypedEdges edges(draw, 9, 200);
  const Relation relation = edges.relation(9, {});
  const Tensor types = Tensor::from(edges.type);
  CHECK(typed_slots(relation, types, 7) == nullptr);
  CHECK(typed_slots(relation, types, 7, 200) != nullptr);
  CHECK(typed_slots(relation, types, 7, 201) == nullptr);
  // Of 40 types every target has few, and any might be at any target.
  const Relation mixed = Relation::from_coo(50, 50, draw.ints(100, 0, 50), draw.ints(100, 0, 50));
  CHECK(typed_slots(mixed, draw.ints(100, 0, 40), 40, 0) == nullptr);
  CHECK(typed_slots(Relation::from_coo(3, 3, Tensor::from<int32_t>({}), Tensor::from<int32_t>({})),
                    Tensor::from<int32_t>({}), 4, 0)
            ->ranges.empty());
  CHECK_ERROR_HAS(typed_slots(relation, types, 4, 0), "type 5");
  const auto slots = typed_slots(relation, types, 7, 0);
  const Var x(Tensor::zeros({25, 3})), w(Tensor::zeros({7, 3, 2}));
  CHECK_ERROR_HAS(slot_linear(Var(Tensor::zeros({24, 3})), w, *slots, 17), "expected [25, in]");
  CHECK_ERROR_HAS(slot_linear(x, Var(Tensor::zeros({5, 3, 2})), *slots, 17), "types up to 5");
  CHECK_ERROR_HAS(slot_linear(x, w, *slots, 14), "targets up to 14");
  CHECK_ERROR_HAS(slot_linear(x, w, *slots, 17, {.x = x}), "features without a matrix");
}
