#pragma once

#include <adjoint/graph/relation.h>

namespace adj {

/// Treatment of the self-loops j -> j of a relation.
enum class SelfLoops : uint8_t {
  removed,    ///< all removed
  completed,  ///< existing ones are kept (of several the last, by edge number), missing ones are added (GCN)
  renewed,    ///< all removed, then one added per node (GAT)
  added,      ///< existing ones are kept, and one more is added per node (GIN)
};

/// A relation derived from one with M edges, and the mapping of its edges. Nodes 0 … loops - 1 exist on both
/// sides, and may have a self-loop.
struct LoopedRelation {
  Relation relation;  ///< M' edges, numbered in csr() order; the original relation if nothing changed
  int64_t loops = 0;  ///< min(num_src, num_dst)
  /// int32 [M']: new edge k is old edge origin[k], or the added loop of node origin[k] - M. Absent: identity.
  Tensor origin;
  /// int32 [M + loops]: the new number of each old edge, then of each node's added loop; M' if there is none.
  /// Absent: identity.
  Tensor became;
  bool complete = true;  ///< every old edge and every node's loop has a new number

 private:
  friend struct detail::CarrierAccess;
  LoopedRelation carried_to(detail::Carrier& carrier) const;
};

/// Made once, on the relation's device, and cached in it. Parallel edges are kept.
LoopedRelation with_self_loops(const Relation& relation, SelfLoops loops);

}  // namespace adj
