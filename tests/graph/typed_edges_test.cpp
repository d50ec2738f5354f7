#include "../autograd/relation_cases.h"
#include <adjoint/graph/typed_edges.h>

#include <map>
#include <set>

using namespace adj;
using namespace adj::test;

TEST_CASE("pairs of types and nodes are those of the edges, once each and in order") {
  for_relations(400, [](const Relation& relation, Draw& draw) {
    for (const int64_t types : {1, 3, 40}) {
      const Tensor type = draw.ints(relation.num_edges(), 0, static_cast<int32_t>(types));
      const std::vector<int32_t> of_edge = type.to_vector<int32_t>();
      std::map<std::pair<int32_t, int32_t>, double> count;  // of a type's edges to a target
      each_edge(relation, [&](int32_t, int32_t dst, int64_t e) { ++count[{of_edge[uz(e)], dst}]; });
      for (const EdgeEnd end : {EdgeEnd::source, EdgeEnd::target}) {
        const TypedPairs pairs = typed_pairs(relation, type, types, end);
        std::set<std::pair<int32_t, int32_t>> expected;  // by type, then node
        each_edge(relation, [&](int32_t src, int32_t dst, int64_t e) {
          expected.emplace(of_edge[uz(e)], end == EdgeEnd::source ? src : dst);
        });
        const std::vector<int64_t> offsets = pairs.offsets.to_vector<int64_t>();
        const std::vector<int32_t> nodes = pairs.picks.csr().indices.to_vector<int32_t>();
        REQUIRE(std::ssize(offsets) == types + 1);
        std::vector<std::pair<int32_t, int32_t>> found;
        for (int32_t r = 0; r < types; ++r)
          for (auto p = uz(offsets[uz(r)]); p < uz(offsets[uz(r) + 1]); ++p) found.emplace_back(r, nodes[p]);
        REQUIRE(std::vector(expected.begin(), expected.end()) == found);
        CHECK(pairs.picks.num_src() == (end == EdgeEnd::source ? relation.num_src() : relation.num_dst()));

        // Every edge leads from or to the pair of its type.
        const std::vector<int32_t> order = pairs.order.to_vector<int32_t>();
        CHECK(std::set(order.begin(), order.end()).size() == of_edge.size());
        const auto [src, dst] = relation.edge_index();
        const std::vector<int32_t> sources = src.to_vector<int32_t>(), targets = dst.to_vector<int32_t>();
        const std::vector<double> weight = values(typed_mean_weights(relation, type, types, DType::f64));
        each_edge(pairs.edges, [&](int32_t begin, int32_t finish, int64_t k) {
          const auto e = uz(order[uz(k)]);
          const auto [pair, node] =
              end == EdgeEnd::source ? std::pair(begin, finish) : std::pair(finish, begin);
          CHECK(found[uz(pair)] == std::pair(of_edge[e], end == EdgeEnd::source ? sources[e] : targets[e]));
          CHECK(node == (end == EdgeEnd::source ? targets[e] : sources[e]));
          if (end == EdgeEnd::source) CHECK(weight[uz(k)] == 1.0 / count[{of_edge[e], targets[e]}]);
        });
      }
    }
  });
}

TEST_CASE("pairs are made once for a tensor of types") {
  Draw draw(401, Device::cpu());
  const Relation relation = draw.graph(9, 30).relation();
  Tensor types = draw.ints(30, 0, 4);
  const auto offsets = [&](const Tensor& of_edges, int64_t count) {
    return typed_pairs(relation, of_edges, count, EdgeEnd::source).offsets;
  };
  CHECK(offsets(types, 4).storage_id() == offsets(types, 4).storage_id());
  CHECK(offsets(types, 4).storage_id() != offsets(types.clone(), 4).storage_id());
  CHECK(offsets(types, 6).numel() == 7);
  CHECK(typed_mean_weights(relation, types, 4, DType::f32).dtype() == DType::f32);
  CHECK_ERROR(offsets(Tensor::full({30}, 2, DType::i32), 2),
              "edge types: edge 0 has type 2, expected [0, 2)");
  CHECK_ERROR_HAS(offsets(types.rows(0, 29), 4), "expected [30] int32 on cpu");
  CHECK_ERROR_HAS(offsets(types.to(DType::i64), 4), "expected [30] int32 on cpu");
  types.fill_(1);
  CHECK_ERROR_HAS(offsets(types, 4), "were modified");
}
