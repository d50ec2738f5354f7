#pragma once

#include "../reference/plain.h"

namespace adj::test {

/// f(source, target, edge) for every edge by number.
template <class F>
void each_edge(const Relation& relation, F&& f) {
  const auto [src, dst] = relation.edge_index();
  const auto sources = src.to_vector<int32_t>(), targets = dst.to_vector<int32_t>();
  for (size_t e = 0; e < sources.size(); ++e) f(sources[e], targets[e], static_cast<int64_t>(e));
}

/// f(relation, draw) on every device for an unsorted bipartite list with parallel edges and a target without
/// edges; the same from CSR and from its transpose; graphs with and without self-loops; one without edges.
template <class F>
void for_relations(uint64_t seed, F f) {
  on_devices(seed, DType::f64, [&](Draw& draw, Device device) {
    const Tensor src = Tensor::from<int32_t>({4, 0, 3, 3, 1, 6, 0, 3, 2, 5, 3}, device);
    const Tensor dst = Tensor::from<int32_t>({1, 4, 3, 3, 0, 3, 1, 3, 4, 0, 3}, device);
    const Tensor none = Tensor::from<int32_t>({}, device);
    const Relation list = Relation::from_coo(7, 5, src, dst);
    const std::pair<const char*, Relation> cases[] = {
        {"list", list},
        {"csr", Relation::from_csr(list.csr())},
        {"transposed", Relation::from_transposed(list.transposed())},
        {"loops", Relation::from_coo(7, 7, src, dst)},
        {"graph", draw.graph(9, 30)},
        {"no edges", Relation::from_coo(3, 3, none, none)}};
    for (const auto& [name, relation] : cases) {
      CAPTURE(name);
      f(relation, draw);
    }
  });
}

}  // namespace adj::test
