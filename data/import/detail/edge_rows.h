#pragma once

#include <adjoint/graph/relation.h>

namespace adj::detail {

/// The edges of a list by target, then source, and with `inverse` each in the other direction, too. What
/// sorted_edges() gives of them, less the order: 4 bytes an edge beside the list, where that takes 24. Nodes
/// are in range; on the CPU.
Csr edge_rows(int64_t nodes, const EdgeIndex& edges, bool inverse);

}  // namespace adj::detail
