#pragma once

#include <adjoint/graph/splits.h>

namespace adj::detail {

/// random_link_split() without negative pairs.
struct LinkParts {
  Tensor train;         ///< int32: edges that stay
  EdgeIndex val, test;  ///< positive pairs
};
LinkParts deal_links(const Graph& graph, const SplitFractions& fractions, Generator& generator,
                     bool undirected);

}  // namespace adj::detail
