#pragma once

#include <adjoint/data/dataset.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace adj {

/// What the labels of a node or a graph mean.
enum class LabelKind : uint8_t {
  classes,     ///< one column, integers from 0
  multilabel,  ///< columns of 0 and 1
  regression   ///< columns of numbers
};

/// What import_ogb() makes of a folder.
struct OgbOptions {
  /// Each edge followed by its inverse, with its features again (loops too), as the package's
  /// add_inverse_edge: its table says so of ogbn-products, ogbn-proteins, ogbg-mol* and ogbg-ppa.
  bool inverse_edges = false;
  /// Where it is not given: one column of integers from 0 is classes, several of 0 and 1 are multilabel, and
  /// where a number is no integer they are all regression; anything else is asked for.
  std::optional<LabelKind> labels = {};
  std::optional<int64_t> label_column = {};  ///< of several, from 0; all where it is not given
  std::string split = {};                    ///< the folder below split/; empty: the only one
  /// Additional node files ("node_year"), whose columns stand behind node_feat's.
  std::vector<std::string> node_tables = {};
};

/// A dataset of the Open Graph Benchmark (Hu et al. 2020) for node or graph property prediction, from the
/// folder that holds raw/ and split/ (or from raw/ itself), with the meaning that the `ogb` package gives to
/// it. Of raw/, in text (X.csv.gz, or X.csv) or binary:
///
/// | text | binary | holds |
/// | --- | --- | --- |
/// | num-node-list, num-edge-list | data.npz: num_nodes_list, num_edges_list | how many each graph has |
/// | edge | edge_index [2, M] | source, target: counted from 0 in each graph |
/// | node-feat, edge-feat | node_feat, edge_feat | features, optional; edges' become the attribute "attr" |
/// | node-label or graph-label | node-label.npz: node_label, or graph-label.npz: graph_label | one or several
/// columns; missing, or nan: no label there |
///
/// and split/NAME/{train,valid,test}.csv.gz, of which what has no label is left out with a warning; no split/
/// is no split. Takes at most 1.5 times the memory of what it returns, and some 100 MB.
///
/// Throws DataError naming file and line (or array and row): a file that is missing, of other length than the
/// others say, or damaged; a row of other width; what is no number or not finite; a node out of its graph; a
/// label that is none of its kind; no label at all; an index twice in a split or out of range; an empty part;
/// a dataset of several kinds of nodes (ogbn-mag); labels of graphs in several columns of 0 and 1, which the
/// schema has no task for; more than a graph may have. UsageError: several splits and none chosen, one that
/// is not there, no such column, labels that do not say what they are.
Dataset import_ogb(const std::string& folder, const OgbOptions& options = {});

}  // namespace adj
