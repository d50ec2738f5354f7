#pragma once

#include "../reference/plain.h"

namespace adj::test {

struct RelationCase {
  std::string name;
  Relation relation;
};

/// An unsorted bipartite list with parallel edges and a target without edges; the same from CSR and from its
/// transpose; graphs with and without self-loops; one without edges.
inline std::vector<RelationCase> relation_cases(Draw& draw, Device device) {
  const Tensor src = Tensor::from(std::vector<int32_t>{4, 0, 3, 3, 1, 6, 0, 3, 2, 5, 3}, device);
  const Tensor dst = Tensor::from(std::vector<int32_t>{1, 4, 3, 3, 0, 3, 1, 3, 4, 0, 3}, device);
  const Tensor none = Tensor::from(std::vector<int32_t>{}, device);
  const Relation list = Relation::from_coo(7, 5, src, dst);
  return {{"list", list},
          {"csr", Relation::from_csr(list.csr())},
          {"transposed", Relation::from_transposed(list.transposed())},
          {"loops", Relation::from_coo(7, 7, src, dst)},
          {"graph", draw.graph(9, 30)},
          {"no edges", Relation::from_coo(3, 3, none, none)}};
}

template <class F>
void for_relations(uint64_t seed, F f) {
  for (Device device : devices()) {
    Draw draw(seed, device);
    for (const RelationCase& c : relation_cases(draw, device)) {
      CAPTURE(c.name);
      f(c.relation, draw);
    }
  }
}

}  // namespace adj::test
