#pragma once

#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/import/column_transform.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/table_head.h>

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace adj {

/// A type that the user chose for a column, by name or number.
struct ColumnChoice {
  std::string column;
  ColumnType type = ColumnType::number;
  int64_t columns = 1;  ///< of hash and text; of set 1: one for each item
};

/// "zip=hash:64": the type of a column, with a number of columns for hash, text and set. Throws DataError
/// beginning with `place` for anything else.
ColumnChoice column_choice(const std::string& text, const std::string& place);

/// The encoder of another file, for a later table of the same kind.
struct LikeFile {
  std::string path;  ///< for messages
  FeatureEncoder encoder;
};

/// Node data files, each optional (empty: none): one line per node, its id and its values, with separators,
/// quotes and comments as for edge lists (import_edge_list).
///
/// The first line is a header if none of its fields is a number, it names no node, and either the second line
/// has a number below a word or its id is a common column name (is_column_name).
struct NodeFiles {
  /// A table of all nodes: id, features and label, in columns that node_columns() finds by their names; or
  /// without ids if `features_by_row`. Its nodes need no edges. The types of its columns are found: all
  /// numbers, or all booleans, texts or vectors.
  std::string features = {};
  bool features_by_row = false;  ///< row i, from 0, belongs to the node whose id is the integer i
  NodeColumnNames columns = {};  ///< of `features`; `label` of `labels`, if there is such a file
  /// Types of columns instead of what is found.
  std::vector<ColumnChoice> types = {};
  std::vector<int64_t> read_elsewhere = {};  ///< columns of features that the caller reads
  /// Columns, types, categories and fillings of `features`, which are found by their names, instead of
  /// `columns.features`, `types` and `impute`. Further columns are passed over.
  std::optional<LikeFile> like = {};
  /// Replacement of is_missing() numbers, computed per column over the training nodes of the first split, or
  /// all nodes if there is none; also the features of nodes without a row, at most half of them. Without it
  /// both are an error.
  std::optional<Imputation> impute = {};
  /// The id and one label, or T of them; missing values and nodes without a line are unlabelled.
  std::string labels = {};
  std::string labels_id = {};  ///< its column of ids, as NodeColumnNames::id
  bool labels_by_row = false;  ///< same; the first line is a label, and may be empty
  /// Labels that mean unlabelled, as texts or numbers (9 is 9.0, too), in addition to empty ones,
  /// is_missing() values and -1. An empty list, or one with an empty text, replaces these: "" alone makes -1
  /// a class.
  std::optional<std::vector<std::string>> missing_labels = {};
  bool signed_classes = false;  ///< -1 is a class, as of edges, whose labels may be signs
  /// node_class: any text; the distinct ones are classes 0 … C - 1 in ascending order, numerically if all are
  /// numbers. Texts, and numbers other than 0 … C - 1, are kept as Dataset::class_names, as are header names
  /// of several columns. node_multilabel: 0 or 1 in T columns. node_regression: numbers in T columns.
  Task task = Task::node_class;
  /// Ids, one per line: all three files, or none.
  std::string train = {}, val = {}, test = {};
  std::optional<RandomSplits> split = {};  ///< instead of the three files
  /// Instead of both: column of `features` with the part of each node (split_by_column).
  std::string split_column = {};
  /// Instead of these: draws splits of items with these labels, as Dataset::y.
  std::function<std::vector<Split>(const Tensor& labels)> draw = {};
  /// What the dataset's splits select, if not the rows: "edges" or "graphs". Then columns of splits are
  /// passed over, with a note.
  std::string_view split_items = {};
  Header headers = Header::find_out;  ///< of each of the files
  std::string_view item = "node";     ///< what a row is, for messages
};

/// Names of the columns that are features by `types` and `like`.
std::vector<std::string> typed_columns(const std::vector<ColumnChoice>& types,
                                       const std::optional<LikeFile>& like);

/// Where no name says ids (NodeColumns::possible_ids), sets the column of ids of the table of features, and
/// that of the file of labels, to the one with the ids of edges, `ids`, with a note. Throws DataError if
/// several have them.
void choose_matching_id(NodeFiles& files, const TextFormat& text, const NodeIds& ids,
                        std::vector<std::string>& notes);

/// Adds the nodes of the table of features that are in no edge, with a note about them. Throws DataError if
/// none of its ids is in an edge.
void add_listed_nodes(const NodeFiles& files, const TextFormat& text, NodeIds& ids,
                      std::vector<std::string>& notes);

/// Reads the files for the nodes of `data`, whose graph is set: its x, y, classes, task, splits. `text` is
/// EdgeListOptions::text. `notes` gets one line per file: separator, header, comments, number of missing
/// labels and numbers; and one about a random split. Throws DataError naming file and line: an unknown or
/// repeated id, a row with another number of columns than the first, an invalid number, a column to impute
/// without any number, a node without features, a file by rows with another number of rows than nodes, a
/// split that is empty or contains a node twice or an unlabelled one.
void read_node_files(const NodeFiles& files, const TextFormat& text, const NodeIds& ids, Dataset& data,
                     Progress* reading, std::vector<std::string>& notes);

}  // namespace adj
