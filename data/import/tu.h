#pragma once

#include <adjoint/data/dataset.h>

#include <optional>
#include <string>
#include <vector>

namespace adj {

/// Names of columns that an earlier dataset or a model has.
struct TuLike {
  std::string path;                       ///< of its file, for messages
  std::vector<std::string> nodes, edges;  ///< of features and of edge attributes; empty: none
};

/// Options of import_tu(). Defaults are those of PyG's TUDataset.
struct TuOptions {
  bool node_attributes = false;  ///< as features, before the one-hot node labels
  bool edge_attributes = false;  ///< as columns of the edge attribute "attr", before the one-hot edge labels
  bool keep_edges = false;       ///< keep self-loops and parallel edges
  /// Its columns; attributes are read if they are among them, and labels without a column are 0 in all.
  std::optional<TuLike> like = {};
};

/// Imports a dataset of the TU collection (Morris et al. 2020), from the folder of NAME_A.txt, as PyG's
/// `read_tu_data` does. Lines of the files NAME_… for M edges, N nodes, G graphs; ids count from 1:
///
/// - A.txt: an edge: source, target.
/// - graph_indicator.txt: the graph of a node.
/// - graph_labels.txt: the class of a graph; the distinct values, ascending, become 0 … C - 1, and are kept
/// as
///   names unless they are these.
/// - graph_attributes.txt: targets of a graph, instead of a class.
/// - node_labels.txt, edge_labels.txt: integers in one or several columns, each one-hot encoded from its
///   minimum to its maximum, in columns called label=3 (of several columns label_1=3).
/// - node_attributes.txt, edge_attributes.txt: numbers, in columns called attribute_1, … (a single one
/// attribute).
///
/// The first two and one of the next two are required. Self-loops are removed and parallel edges merged,
/// adding their attributes. Nodes that are not grouped by graph are sorted by graph (stable);
/// Dataset::node_ids are then the ids of the files. Features with more than 1024 columns become sparse.
///
/// Throws DataError naming file and line: no such dataset in the folder or several, a file that is missing,
/// empty, or whose length does not match the others, a row of another width, values that are not numbers or
/// not finite, a node or graph out of range, a graph without nodes, an edge between graphs, too many label
/// columns, columns that are not those of TuOptions::like.
///
/// `notes`: lines on a file of classes beside targets, on edges that were removed or merged, and on labels
/// without a column.
Dataset import_tu(const std::string& folder, const TuOptions& options = {},
                  std::vector<std::string>* notes = nullptr);

}  // namespace adj
