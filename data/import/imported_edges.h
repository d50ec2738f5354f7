#pragma once

#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/import/growing_rows.h>

namespace adj {

/// Edge collector of the importers: one append per edge, then the graph.
class ImportedEdges {
 public:
  static constexpr int64_t kMost = (int64_t{1} << 31) - 2;

  ImportedEdges(bool weighted, bool drop_self_loops)
      : weighted_(weighted), drop_self_loops_(drop_self_loops) {}

  /// Number of edges, without the dropped ones.
  int64_t size() const { return src_.size() - forgotten_; }
  /// `weight` is ignored for an unweighted graph.
  void append(int32_t src, int32_t dst, float weight);
  /// Number of edges whose nodes both occur in no other edge.
  int64_t count_lone(int64_t nodes) const;
  /// Drops the first edge, from node 0 to node 1, which was a header; later nodes are renumbered by -2. No
  /// other edge may have these nodes.
  void forget_first() { forgotten_ = true; }
  /// The graph in list order, followed, if requested, by the reverses of all edges except self-loops. Leaves
  /// this empty. Throws DataError "FILE: …" for kMost or more edges, or if summed weights of equal edges
  /// overflow float32.
  Graph graph(const std::string& file, const NodeIds& ids, bool undirected, bool coalesced);

 private:
  bool weighted_, drop_self_loops_, forgotten_ = false;
  int64_t loops_ = 0;
  GrowingRows<int32_t> src_, dst_;
  GrowingRows<float> weight_;
};

/// Contents of a Matrix Market file: edges, number of nodes, and whether the format is symmetric, so that
/// only half of the edges are listed.
struct MatrixMarket {
  ImportedEdges edges;
  int64_t nodes = 0;
  bool symmetric = false;
};
bool is_matrix_market(std::string_view first_line);
MatrixMarket read_matrix_market(TextSource& source, const EdgeListOptions& options);

}  // namespace adj
