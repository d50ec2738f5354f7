#pragma once

#include <adjoint/data/typed_dataset.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace adj {

/// Meaning of the labels of a node or graph.
enum class LabelKind : uint8_t {
  classes,     ///< one column, integers from 0
  multilabel,  ///< columns of 0 and 1
  regression   ///< columns of numbers
};
constexpr auto names_of(LabelKind) {
  return std::array{"class", "multilabel", "regression"};
}  ///< in options

/// Options of import_ogb().
struct OgbOptions {
  /// Inserts the inverse after each edge, with the same features (also for loops), as the package's
  /// add_inverse_edge does: set in its table for ogbn-products, ogbn-proteins, ogbg-mol* and ogbg-ppa.
  bool inverse_edges = false;
  /// Default: one column of integers from 0 is classes, several of 0 and 1 are multilabel, and columns with a
  /// non-integer are regression; anything else must be specified.
  std::optional<LabelKind> labels = {};
  std::optional<int64_t> label_column = {};  ///< one of several, from 0; default: all
  std::string split = {};                    ///< folder in split/; empty: the only one
  bool has_split = true;                     ///< false: split/ is not read, and there is no split
  /// Additional node files ("node_year"), whose columns follow those of node_feat.
  std::vector<std::string> node_tables = {};
};

/// Imports an Open Graph Benchmark dataset (Hu et al. 2020) for node or graph property prediction, from the
/// folder with raw/ and split/ (or from raw/ itself), with the semantics of the `ogb` package. raw/ is in
/// text (X.csv.gz, or X.csv) or binary form (names in parentheses):
///
/// - num-node-list, num-edge-list (data.npz: num_nodes_list, num_edges_list): counts per graph.
/// - edge (edge_index [2, M]): source, target, from 0 in each graph.
/// - node-feat, edge-feat (node_feat, edge_feat): features, optional; edge features become the attribute
///   "attr".
/// - node-label or graph-label (node-label.npz: node_label, or graph-label.npz: graph_label): one or several
///   columns; missing, or NaN: unlabelled.
///
/// split/NAME/{train,valid,test}.csv.gz has the splits; unlabelled items are omitted with a warning; without
/// split/ there is no split. Takes at most 1.5 times the memory of the result, plus about 100 MB.
///
/// Throws DataError naming file and line (or array and row): a file that is missing, damaged, or whose length
/// does not match the others; a row of another width; values that are not numbers or not finite; a node
/// outside of its graph; an invalid label; no label at all; an index repeated in a split or out of range; an
/// empty part; a dataset of several types of nodes (import_typed_ogb() reads it); graph labels in several 0/1
/// columns, for which the schema has no task; a graph that is too large. UsageError: several splits and none
/// chosen, an unknown split, an unknown column, ambiguous labels.
Dataset import_ogb(const std::string& folder, const OgbOptions& options = {});

/// Whether the folder has several types of nodes, for import_typed_ogb(), in text form.
bool is_typed_ogb(const std::string& folder);

/// The same for datasets of several types of nodes, ogbn-mag and ogbl-biokg, whose raw/ has in text form:
///
/// - num-node-dict: a header of types of nodes, and the number of each; triplet-type-list: source, relation
///   and target of each type of edges.
/// - relations/SOURCE___RELATION___TARGET/edge, num-edge-list and edge-feat, which is optional.
/// - node-feat/TYPE/node-feat, optional, and the `node_tables` that a type has; node-label/TYPE/node-label.
///
/// `inverse_edges` adds the reverse of each edge that is no loop, as convert tables does: of the same type
/// between nodes of one type, else of the type rev_RELATION. Labels and split/NAME/TYPE/{train,valid,test}
/// are as above. If no type has labels and split/NAME has no types, it has triples of a link prediction:
/// those of raw/ train, and split/NAME/valid.csv and test.csv have others, with a header of head_type, head,
/// relation, tail_type and tail, where a relation is the number in its type's edge_reltype. The package has
/// these as valid.pt and test.pt, pickles, which are refused (docs/programs.md).
///
/// Throws as import_ogb(), also for several graphs, and for types that only one of the two lists has.
TypedDataset import_typed_ogb(const std::string& folder, const OgbOptions& options,
                              std::vector<std::string>& notes);

}  // namespace adj
