#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/splits.h>

#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Random splits, `count` of them, of all labelled nodes, graphs or edges: `fractions` of these to validate
/// and test, the rest to train.
struct RandomSplits {
  SplitFractions fractions = {.val = 0.2, .test = 0.2};
  uint64_t seed = 0;        ///< of the first; split k has seed + k
  bool stratified = false;  ///< stratified by class (stratified_node_split)
  int64_t count = 1;

  /// Draws them for items with these labels, as Dataset::y; all of them if there are no labels.
  /// Throws DataError "PLACE: …" for an empty part, and for stratification without classes.
  std::vector<Split> draw(const Tensor& labels, int64_t items, const std::string& place,
                          std::string_view word = "nodes") const;
  /// The same for the nodes, graphs or edges of a dataset. In a symmetric graph all edges between two nodes
  /// are in one part: an edge and its reverse say the same.
  std::vector<Split> draw(const Dataset& data, const std::string& place) const;
  /// The same for edges between nodes of one type, by position: all between two nodes are in one part.
  std::vector<Split> draw_pairs(const EdgeIndex& edges, const Tensor& labels, const std::string& place) const;
  /// "split by seed 0, stratified: 60 nodes to train, 20 to validate, 20 to test", for a summary.
  std::string note(const std::vector<Split>& splits, std::string_view items) const;
};

/// Number of nodes, or of graphs or edges for their tasks: what splits select.
int64_t num_split_items(const Dataset& data);
/// "nodes", "graphs" or "edges", also the group of the schema that has the labels.
std::string_view word_for_split_items(Task task);
/// Splits as in the file, or the list of edges, from which `data` was read: edges by their position there,
/// not by number.
std::vector<Split> listed_splits(const Dataset& data, std::vector<Split> splits);

/// Writes the dataset file `in` with these splits instead of its own to `out`, which may be the same file and
/// is replaced when complete. All else stays as it is, also what is not part of the schema. `in` is a file
/// that load_dataset() has accepted. Throws DataError.
void save_splits(const std::string& in, const std::vector<Split>& splits, const std::string& out);

}  // namespace adj
