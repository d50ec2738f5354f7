#pragma once

#include <adjoint/data/import/edge_list.h>
#include <adjoint/data/import/growing_rows.h>
#include <adjoint/data/import/rounding.h>

#include <limits>

namespace adj {

/// What a list says of an edge besides its nodes.
struct EdgeValues {
  float weight = 1.0f;                                     ///< 1: none
  int32_t label = -1;                                      ///< number of a text (LabelTexts); -1: none
  float target = std::numeric_limits<float>::quiet_NaN();  ///< NaN: none
  int64_t line = 0;                                        ///< of the list; 0: it has none
};

/// Edge collector of the importers: one append per edge, then the graph.
class ImportedEdges {
 public:
  static constexpr int64_t kMost = (int64_t{1} << 31) - 2;  ///< maximum number of edges

  /// `labels`: edge_class or edge_regression; none: edges have no labels.
  ImportedEdges(bool weighted, bool drop_self_loops, Task labels = Task::none)
      : weighted_(weighted), drop_self_loops_(drop_self_loops), labels_(labels) {}

  /// Number of edges, without the dropped ones.
  int64_t size() const { return src_.size() - forgotten_; }
  /// The same with the reverses of all edges except self-loops, if there are any.
  int64_t size(bool undirected) const { return undirected ? 2 * size() - loops_ : size(); }
  /// "3 self-loops dropped, the first in line 4", of which the graph has none; by `ids` if lists have no
  /// lines.
  std::string dropped_note(const NodeIds& ids) const;
  int64_t zeros() const { return zeros_; }  ///< number of edges of weight 0
  /// Of the values only those are kept that the constructor says.
  void append(int32_t src, int32_t dst, const EdgeValues& values);
  /// Number of edges whose nodes both occur in no other edge.
  int64_t count_lone(int64_t nodes) const;
  /// Whether each node is the source of an edge.
  std::vector<bool> sources(int64_t nodes) const { return ends(src_, nodes); }
  /// The number of nodes that are sources and targets.
  int64_t count_both_ends(int64_t nodes) const;
  /// The number of nodes that are targets; -1 if one of them is a source too.
  int64_t count_pure_targets(int64_t nodes) const;
  /// Drops the first edge, from node 0 to node 1, which was a header; later nodes are renumbered by -2. No
  /// other edge may have these nodes.
  void forget_first() { forgotten_ = true; }
  /// The graph in list order, followed, if requested, by the reverses of all edges except self-loops. Leaves
  /// this empty. Throws DataError "FILE: …" for more than kMost edges, or if summed weights of equal edges
  /// overflow float32.
  Graph graph(const std::string& file, const NodeIds& ids, bool undirected, bool coalesced);
  /// After an uncoalesced graph(), the labels of its edges: numbers of texts, int32 [M], or targets, float32
  /// [M, 1].
  const Tensor& labels() const { return listed_labels_; }

 private:
  /// Whether each node is in this column.
  std::vector<bool> ends(const GrowingRows<int32_t>& column, int64_t nodes) const;

  bool weighted_, drop_self_loops_, forgotten_ = false;
  Task labels_;
  Tensor listed_labels_;
  int64_t loops_ = 0, dropped_ = 0, dropped_line_ = 0, zeros_ = 0;
  int32_t dropped_node_ = 0;
  GrowingRows<int32_t> src_, dst_;
  GrowingRows<float> weight_, target_;
  GrowingRows<int32_t> label_;
};

/// Contents of a Matrix Market file: edges, number of nodes, and whether the format is symmetric, so that
/// only half of the edges are listed.
struct MatrixMarket {
  ImportedEdges edges;
  int64_t nodes = 0;
  bool symmetric = false;
  Rounding rounding = {};  ///< of values
};
bool is_matrix_market(std::string_view first_line);  ///< whether it is the format's banner, in any case
/// Reads it as import_edge_list() does. Of the options only `columns.weight` and `drop_self_loops` count.
MatrixMarket read_matrix_market(TextSource& source, const EdgeListOptions& options);

namespace detail {
/// Of weights of merged edges, or absent: "; 2 of 9 merged weights are 0", or nothing.
std::string zero_weights(const Tensor& weight);
}  // namespace detail

}  // namespace adj
