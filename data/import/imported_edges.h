#pragma once

#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/import/growing_rows.h>

namespace adj {

/// Edges as an importer gathers them: an append an edge, then the graph.
class ImportedEdges {
 public:
  static constexpr int64_t kMost = (int64_t{1} << 31) - 2;

  ImportedEdges(bool weighted, bool drop_self_loops)
      : weighted_(weighted), drop_self_loops_(drop_self_loops) {}

  /// How many there are, those that were dropped aside.
  int64_t size() const { return src_.size() - forgotten_; }
  /// `weight` is left out of an unweighted graph.
  void append(int32_t src, int32_t dst, float weight);
  /// How many edges there are both of whose nodes are in no other.
  int64_t count_lone(int64_t nodes) const;
  /// The first edge, from node 0 to node 1, is none after all, and the nodes behind those move up by two. Of
  /// others none has these nodes.
  void forget_first() { forgotten_ = true; }
  /// The graph in the order of the list, then, where wanted, the reverses of all edges but self-loops.
  /// Nothing is left here. Throws DataError "FILE: …" where there are kMost edges or more by then, or weights
  /// of equal edges add up beyond float32.
  Graph graph(const std::string& file, const NodeIds& ids, bool undirected, bool coalesced);

 private:
  bool weighted_, drop_self_loops_, forgotten_ = false;
  int64_t loops_ = 0;
  GrowingRows<int32_t> src_, dst_;
  GrowingRows<float> weight_;
};

/// A Matrix Market file: its edges, the number of nodes, and whether the matrix is symmetric by its format,
/// so that the list has half of the edges.
struct MatrixMarket {
  ImportedEdges edges;
  int64_t nodes = 0;
  bool symmetric = false;
};
bool is_matrix_market(std::string_view first_line);
MatrixMarket read_matrix_market(TextSource& source, const EdgeListOptions& options);

}  // namespace adj
