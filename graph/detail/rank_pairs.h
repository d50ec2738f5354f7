#pragma once

#include <adjoint/graph/detail/row_parts.h>
#include <adjoint/graph/sparse_matrix.h>

#include <memory>
#include <vector>

namespace adj::detail {

/// Brings values of a rank's in-edges to the ranks of their sources, whose out-edges they are.
class EdgeExchange {
 public:
  EdgeExchange() = default;
  /// `sends`: by rank, which of this rank's in-edges begin there, and `counts` those that it gets of each.
  /// Of what comes, rank by rank, out-edge k is number order[k].
  EdgeExchange(Group group, const std::vector<std::vector<int32_t>>& sends, std::vector<int64_t> counts,
               const std::vector<int32_t>& order, Device device);
  /// [in-edges] or [in-edges, H] -> [out-edges] or [out-edges, H]. All ranks call it together.
  Tensor operator()(const Tensor& values) const;

 private:
  Group group_;
  std::vector<int64_t> sent_, received_;  // by rank: the first, and their number
  Tensor sends_, order_;
};

/// The distinct pairs (type of an edge, its source or target) of which this rank has the node, by type, then
/// node, as TypedPairs has those of all: none is computed twice.
struct RankPairs {
  Tensor offsets;                         ///< int64 [R + 1]: pairs by type
  Relation picks;                         ///< from this rank's nodes to its pairs
  std::shared_ptr<const RowParts> parts;  ///< of the pairs; null unless sums go by parts
  /// From pairs of sources to targets, or from sources to pairs of targets: a rank's part, with both
  /// directions. The entries of a row are in the order of one rank.
  Relation edges;
  /// 1 / c (typed_mean_weights()) of the entries in both directions.
  Tensor mean, adjoint_mean;
  int64_t all_pairs = 0;  ///< of all ranks

  /// Sums over `edges`, or means over the edges of a type.
  SparseMatrix matrix(bool means) const;
};

/// The pairs of both ends of a rank's edges.
struct RankTypedEdges {
  RankPairs sources, targets;
  int64_t all_edges = 0;
  /// From the rows of sources.edges.source_rows() to this rank's pairs of targets, by edge number of
  /// sources.edges.
  Relation links;
  EdgeExchange to_sources;  ///< by edge number of sources.edges -> by entry of its transposed()
};

/// Of a rank's part in its RankScope: `types` int32 [M] by edge number, `dtype` of the mean weights float32
/// or float64. Made once by all ranks together, on the host, and cached as typed_pairs() is.
std::shared_ptr<const RankTypedEdges> rank_typed_edges(const Relation& relation, const Tensor& types,
                                                       int64_t num_types, DType dtype);

}  // namespace adj::detail
