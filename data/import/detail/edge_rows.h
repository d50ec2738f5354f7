#pragma once

#include <adjoint/graph/relation.h>

namespace adj::detail {

/// The edges of a list by target, then source; with `inverse` also reversed. Same as sorted_edges() without
/// the order, and takes 4 bytes per edge in addition to the list, instead of 24. Nodes must be in range; on
/// the CPU.
Csr edge_rows(int64_t nodes, const EdgeIndex& edges, bool inverse);

/// The edges of rows source, target: int32 [M, 2].
EdgeIndex edges_of(const Tensor& pairs);

}  // namespace adj::detail
