#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/column_transform.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/table_head.h>
#include <adjoint/graph/splits.h>

#include <optional>

namespace adj {

/// Parts of all nodes with a label, drawn at random.
struct DrawnSplit {
  SplitFractions fractions = {};
  uint64_t seed = 0;
  bool stratified = false;  ///< every class has its share of each part
};

/// Files that say something of nodes, each optional (empty: none): a line is a node's id and what is said of
/// it, with separators, quotes and comments as in a list of edges (import_edge_list).
///
/// A first line is a header where none of its fields is a number, it names no node, and either the second
/// line has a number below a word or its id is a common name of columns (is_column_name).
struct NodeFiles {
  /// The id and F numbers, for every node; or F numbers, where `features_by_row`.
  std::string features = {};
  bool features_by_row = false;  ///< row i, from 0, is that of the node whose id is the integer i
  /// What stands in the place of a number that is_missing(), found from its column; without it that is an
  /// error.
  std::optional<Imputation> impute = {};
  /// The id and a label, or T of them; what says that it is missing, and a node without a line, is
  /// unlabelled.
  std::string labels = {};
  bool labels_by_row = false;  ///< likewise; the first line is a label, and may be empty
  /// Labels of classes that say so, as they are spelled, beside those of nothing. Where it is not given: what
  /// is_missing(), and -1.
  std::optional<std::vector<std::string>> missing_labels = {};
  /// node_class: any text, of which the different ones are classes 0 … C - 1 in ascending order, as numbers
  /// where all are; texts, and numbers that are not 0 … C - 1, are kept as Dataset::class_names, and so are
  /// the header's names of several columns. node_multilabel: 0 or 1 in T columns. node_regression: numbers in
  /// T columns.
  Task task = Task::node_class;
  /// Ids, one a line: all three, or none.
  std::string train = {}, val = {}, test = {};
  std::optional<DrawnSplit> split = {};  ///< in the place of the three
  Header headers = Header::find_out;
};

/// Reads them for the nodes of `data`, whose graph is there: its x, y, classes, task, splits. `comment` is
/// EdgeListOptions::comment. `notes` gets a line on each file: its separator, its header, its comments, how
/// many labels and numbers are missing, and on the split that was drawn. Throws DataError naming file and
/// line: an id that is no node's, an id twice, a row with other columns than the first, a number that is
/// none, a column to impute without a number, a node without features, a file by rows with more or fewer rows
/// than nodes, a split that is empty or holds a node twice or one without a label.
void read_node_files(const NodeFiles& files, const std::optional<std::string>& comment, const NodeIds& ids,
                     Dataset& data, Progress* reading, std::vector<std::string>& notes);

}  // namespace adj
