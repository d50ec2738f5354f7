#include <adjoint/core/detail/carrier.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/kernels/index/select.h>

#include <algorithm>
#include <vector>

namespace adj {

namespace {

using detail::concatenated;
using detail::gather_edges;
using detail::iota;

/// The last loop of each node, or edges + node. Node 0 is source `first`. Rare, and made once: on the host.
Tensor last_loops(const EdgeIndex& edges, int64_t nodes, int64_t first) {
  const auto src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
  std::vector<int32_t> loop(static_cast<size_t>(nodes));
  for (size_t i = 0; i < loop.size(); ++i) loop[i] = static_cast<int32_t>(src.size() + i);
  for (size_t e = 0; e < src.size(); ++e)
    if (src[e] == dst[e] + first) loop[static_cast<size_t>(dst[e])] = static_cast<int32_t>(e);
  return Tensor::from(loop, edges.src.device());
}

/// The inverse of `origin`, with M' for missing edges.
Tensor places_of(const Tensor& origin, int64_t all, bool complete) {
  const Tensor place = kernels::inverse_of(origin, all);
  if (complete) return place;
  auto numbers = place.to_vector<int32_t>();
  std::replace(numbers.begin(), numbers.end(), -1, static_cast<int32_t>(origin.numel()));
  return Tensor::from(numbers, origin.device());
}

/// Without relation and tensors if nothing changed, since a relation must not hold itself in its cache.
LoopedRelation make_looped(const Relation& relation, SelfLoops wanted) {
  const Device device = relation.device();
  const int64_t old = relation.num_edges(), nodes = std::min(relation.num_src(), relation.num_dst());
  // A rank's nodes are some of the sources of its edges, from `first` on.
  const bool part = relation.is_rank_part();
  const Relation& whole = part ? relation.local_edges() : relation;
  const int64_t first = part ? relation.first_local_source() : 0;
  LoopedRelation looped;
  looped.loops = nodes;
  ADJ_CHECK(old + nodes < kernels::kMaxEntries,
            "self-loops: {} edges and {} loops, expected fewer than {} together", old, nodes,
            kernels::kMaxEntries);
  const EdgeIndex edges = whole.edge_index();
  const Tensor sources = iota(whole.num_src(), device);
  const Tensor local = sources.rows(first, first + nodes),
               target = part ? gather_edges(local, edges.dst) : edges.dst;
  const Tensor others = wanted == SelfLoops::added
                            ? iota(old, device)
                            : detail::places(kernels::PairTest::differ, edges.src, target);
  const bool had_none = others.numel() == old;
  if (wanted == SelfLoops::removed && had_none) return looped;
  Tensor src = gather_edges(edges.src, others), dst = gather_edges(edges.dst, others), origin = others;
  if (wanted != SelfLoops::removed) {
    src = concatenated(src, local);
    dst = concatenated(dst, iota(nodes, device));
    const Tensor loop = wanted == SelfLoops::completed && !had_none
                            ? last_loops(edges, nodes, first)
                            : iota(old + nodes, device).rows(old, old + nodes);
    origin = concatenated(origin, loop);
  }
  auto [csr, order] = detail::sorted_edges(whole.num_src(), whole.num_dst(), {src, dst});
  looped.relation = part ? relation.with_local_edges(std::move(csr)) : Relation::from_csr(std::move(csr));
  looped.origin = gather_edges(origin, order);
  looped.complete = looped.origin.numel() == old + nodes;
  looped.became = places_of(looped.origin, old + nodes, looped.complete);
  return looped;
}

}  // namespace

LoopedRelation LoopedRelation::carried_to(detail::Carrier& carrier) const {
  return {carrier.carry(relation), loops, carrier.carry(origin), carrier.carry(became), complete};
}

LoopedRelation with_self_loops(const Relation& relation, SelfLoops loops) {
  LoopedRelation looped = *relation.cache().get<LoopedRelation>(
      static_cast<int64_t>(loops), [&] { return new LoopedRelation(make_looped(relation, loops)); });
  if (!looped.relation) looped.relation = relation;
  return looped;
}

}  // namespace adj
