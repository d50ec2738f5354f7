#pragma once

#include <adjoint/graph/relation.h>

namespace adj {

/// An edge between every two nodes of each graph of a batch, loops included: graph g has the nodes offsets[g]
/// to offsets[g + 1], int64 [G + 1] from 0, ascending. For attention over whole graphs: Σ n² numbers of 4
/// bytes. Reads the offsets on the host. Throws Error for other offsets, and naming the largest graph for too
/// many pairs.
Relation all_pairs(const Tensor& offsets);

}  // namespace adj
