#pragma once

#include <adjoint/graph/graph.h>
#include <adjoint/graph/ranks/rank_edges.h>

namespace adj::detail {

/// Of Graph::from_rank_edges(), whose edges are `in`: the other direction, and what the ranks know together.
struct RankShare {
  /// Throws as Graph::from_rank_edges(). All ranks make theirs together.
  RankShare(RankRows rows, Tensor all_offsets, const Graph& in, Graph reversed);

  RankRows rank;
  Tensor offsets;                    ///< of the in-edges of all nodes
  Graph out;                         ///< the edges that begin at the rank's nodes, each reversed
  bool symmetric_structure = false;  ///< of all ranks' edges; next, with their weights
  bool symmetric = false;
  int64_t loops = 0, looped_nodes = 0;  ///< of all ranks; nodes with a loop
};

/// This rank's rows of a structure over all nodes, on the CPU; the others are empty. Weights and attributes
/// are by its edge numbers, which `order` has for each entry.
Graph rank_slice(const RankRows& rank, const Csr& all, const Tensor& order, const Tensor& weight,
                 const EdgeAttributes& attributes);

/// Whether the weights of a symmetric structure and of its transpose, both in CSR order, are equal; those of
/// parallel edges in any order.
bool weights_symmetric(const Csr& csr, const Tensor& weight, const Tensor& transposed);

}  // namespace adj::detail
