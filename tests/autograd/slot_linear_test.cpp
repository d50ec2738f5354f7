#include "../reference/plain.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/grouped_linear.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/graph/typed_edges.h>

#include <map>

using namespace adj;
using namespace adj::test;

namespace {

/// Edges to targets in three stretches, each of types of its own and one that it shares with the next, in
/// any order; the last targets have no edges.
struct TypedEdges {
  std::vector<int32_t> src, dst, type;

  TypedEdges(Draw& draw, int64_t sources, int64_t edges) {
    const std::vector<std::vector<int32_t>> types{{0, 3}, {3, 1}, {5}};
    const auto kind = draw.ints(edges, 0, 6).to_vector<int32_t>(),
               place = draw.ints(edges, 0, 5).to_vector<int32_t>();
    src = draw.ints(edges, 0, static_cast<int32_t>(sources)).to_vector<int32_t>();
    for (size_t e = 0; e < src.size(); ++e) {
      const int32_t stretch = kind[e] % 3;
      const auto& those = types[uz(stretch)];
      type.push_back(those[uz(kind[e]) % those.size()]);
      dst.push_back(stretch * 5 + place[e]);
    }
  }
  Relation relation(int64_t sources, Device device) const {
    return Relation::from_coo(sources, 17, Tensor::from(src, device), Tensor::from(dst, device));
  }
};

}  // namespace

TEST_CASE("sums of slots times their matrices equal loops over the edges, and gradients differences") {
  on_devices(312, DType::f64, [&](Draw& draw, Device device) {
    constexpr int64_t kSources = 20, kTargets = 17, kTypes = 7, kIn = 3, kOut = 4;
    const TypedEdges edges(draw, kSources, 600);
    const Relation relation = edges.relation(kSources, device);
    const Tensor types = Tensor::from(edges.type, device);
    const Tensor x = draw.normal({kSources, kIn}), w = draw.normal({kTypes + 1, kIn, kOut}),
                 bias = draw.normal({kOut});
    const Dense features(x), maps(w.reshape({(kTypes + 1) * kIn, kOut})), shift(bias.reshape({1, kOut}));
    std::map<std::pair<int32_t, int32_t>, double> count;
    for (size_t e = 0; e < edges.src.size(); ++e) ++count[{edges.type[e], edges.dst[e]}];
    for (const auto& [loops, all] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      CAPTURES(loops, all);
      const auto slots =
          all ? all_slots(relation, types, kTypes, loops) : typed_slots(relation, types, kTypes, loops, 0);
      REQUIRE(slots != nullptr);
      CHECK(slots->edges.num_edges() == (loops ? 617 : 600));
      if (all)
        CHECK(slots->edges.num_dst() == kTargets * (loops ? 8 : 7));
      else
        CHECK(slots->edges.num_dst() == (loops ? 42 : 25));  // of 5, 5 and 5 targets of 2, 2 and 1 types
      for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
        Dense expected(kTargets, kOut);
        const auto add = [&](int32_t source, int32_t target, int64_t type, double share) {
          for (int64_t i = 0; i < kIn; ++i)
            for (int64_t j = 0; j < kOut; ++j)
              expected(target, j) += share * features(source, i) * maps(type * kIn + i, j);
        };
        for (int32_t t = 0; t < kTargets; ++t) {
          for (int64_t j = 0; j < kOut; ++j) expected(t, j) = shift(0, j);
          if (loops) add(t, t, kTypes, 1.0);
        }
        for (size_t e = 0; e < edges.src.size(); ++e)
          add(edges.src[e], edges.dst[e], edges.type[e],
              reduce == Reduce::mean ? 1.0 / count[{edges.type[e], edges.dst[e]}] : 1.0);
        const auto run = [&](const std::vector<Var>& v) {
          const Var sums = aggregate(slots->edges, v[0], {.reduce = reduce});
          return slot_linear(sums, v[1], *slots, kTargets, v[2]);
        };
        CHECK(close(run({Var(x), Var(w), Var(bias)}).value(), expected.data, 1e-12));
        check_each(run, {x, w, bias});
      }
    }
  });
}

TEST_CASE("slots of the first targets share the rows of all, with the same sums") {
  on_devices(314, DType::f64, [&](Draw& draw, Device device) {
    const TypedEdges edges(draw, 20, 600);
    const Relation whole = edges.relation(20, device);
    const Tensor types = Tensor::from(edges.type, device);
    const Tensor in_order = whole.csr_order() ? detail::gather_edges(types, whole.csr_order()) : types;
    const Relation sorted = Relation::from_csr(whole.csr());
    const Var x(draw.normal({20, 3})), w(draw.normal({8, 3, 4}));
    for (const bool loops : {false, true})
      for (const int64_t targets : {5, 10, 7}) {  // ranges end at 5 and 10
        CAPTURES(loops, targets);
        const int64_t count = sorted.csr().offsets.rows(targets, targets + 1).to_vector<int64_t>()[0];
        const auto first = [&] {
          return Relation::from_csr(
              {targets, 20, sorted.csr().offsets.rows(0, targets + 1), sorted.csr().indices.rows(0, count)});
        };
        const auto both = [&](const TypedSlots& slots) {  // the product, and the gradient of x
          const Var leaf = Var::parameter(x.value());
          const Var y =
              slot_linear(aggregate(slots.edges, leaf, {.reduce = Reduce::mean}), w, slots, targets);
          sum(y).backward();
          return std::pair(y.value(), leaf.grad());
        };
        const Relation shared = first(), apart = first();
        const Tensor first_types = in_order.rows(0, count);
        share_slots(sorted, in_order, shared, first_types, 7, loops, 0);
        const auto found = typed_slots(shared, first_types, 7, loops, 0),
                   all = typed_slots(sorted, in_order, 7, loops, 0);
        CHECK((found->edges.csr().indices.raw_data() == all->edges.csr().indices.raw_data()) ==
              (targets != 7));
        CHECK(found->edges.num_dst() == typed_slots(apart, first_types, 7, loops, 0)->edges.num_dst());
        const auto [y, gradient] = both(*found);
        const auto [own_y, own_gradient] = both(*typed_slots(apart, first_types, 7, loops, 0));
        CHECK(same_bits(y, own_y));
        CHECK(same_bits(gradient, own_gradient));
      }
  });
}

TEST_CASE("slots are made for targets in the order of their types, and for enough edges") {
  Draw draw(313);
  const TypedEdges edges(draw, 9, 200);
  const Relation relation = edges.relation(9, {});
  const Tensor types = Tensor::from(edges.type);
  CHECK(typed_slots(relation, types, 7, false) == nullptr);
  CHECK(typed_slots(relation, types, 7, false, 200) != nullptr);
  CHECK(typed_slots(relation, types, 7, false, 201) == nullptr);
  // Of 40 types every target has few, and any might be at any target.
  const Relation mixed = Relation::from_coo(50, 50, draw.ints(100, 0, 50), draw.ints(100, 0, 50));
  CHECK(typed_slots(mixed, draw.ints(100, 0, 40), 40, false, 0) == nullptr);
  CHECK(typed_slots(Relation::from_coo(3, 3, Tensor::from<int32_t>({}), Tensor::from<int32_t>({})),
                    Tensor::from<int32_t>({}), 4, false, 0)
            ->ranges.empty());
  CHECK_ERROR_HAS(typed_slots(relation, types, 4, false, 0), "type 5");
  const auto slots = typed_slots(relation, types, 7, false, 0);
  const Var x(Tensor::zeros({25, 3})), w(Tensor::zeros({7, 3, 2}));
  CHECK_ERROR_HAS(slot_linear(Var(Tensor::zeros({24, 3})), w, *slots, 17), "expected [25, in]");
  CHECK_ERROR_HAS(slot_linear(x, Var(Tensor::zeros({5, 3, 2})), *slots, 17), "types up to 5");
  CHECK_ERROR_HAS(slot_linear(x, w, *slots, 14), "targets up to 14");
  CHECK_ERROR_HAS(typed_slots(relation, types, 7, true, 0), "17 targets but 9 sources");
}
