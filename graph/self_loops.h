#pragma once

#include <adjoint/graph/relation.h>

namespace adj {

/// What becomes of the self-loops j -> j of a relation.
enum class SelfLoops : uint8_t {
  removed,    ///< none is left
  completed,  ///< a node keeps its own (of several the last, by edge number); one without gets one (GCN)
  renewed,    ///< none is left, then every node gets one (GAT)
  added,      ///< all are left, and every node gets one more (GIN)
};

/// A relation made from another, of M edges, and how its edges went. Its nodes 0 … loops - 1 stand on both
/// sides, and may have a self-loop.
struct LoopedRelation {
  Relation
      relation;  ///< M' edges, numbered as its csr() has them; the other one itself where nothing changed
  int64_t loops = 0;  ///< min(num_src, num_dst)
  /// int32 [M']: new edge k is old edge origin[k], or the added loop of node origin[k] - M. Absent: it is
  /// edge k.
  Tensor origin;
  /// int32 [M + loops]: the new edge that each old one became, then the one that each node's added loop is;
  /// M' where there is none. Absent as above.
  Tensor became;
  bool complete = true;  ///< every old edge and every node's loop has its place

  LoopedRelation carried_to(detail::Carrier& carrier) const;
};

/// Found once, on the relation's device, and kept with the relation. Parallel edges are kept.
LoopedRelation with_self_loops(const Relation& relation, SelfLoops loops);

}  // namespace adj
