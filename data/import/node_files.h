#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/text_source.h>

namespace adj {

/// Files that say something of nodes, each optional (empty: none): a line is a node's id and what is said of
/// it, separated by the first of tab, semicolon and comma that stands in the first line, else by blanks. A
/// first line whose id is no integer where ids are, or of features no number, is a header. Empty lines and
/// those that begin with # are passed over.
struct NodeFiles {
  /// The id and F numbers, for every node; or F numbers, where `features_by_row`.
  std::string features = {};
  bool features_by_row = false;  ///< row i, from 0, is that of the node whose id is the integer i
  /// The id and a label, or T of them; what is_missing(), and a node without a line, is unlabelled.
  std::string labels = {};
  bool labels_by_row = false;  ///< likewise; the first line is a label
  /// node_class: any text, of which the different ones are classes 0 … C - 1 in ascending order, as numbers
  /// where all are integers. node_multilabel: 0 or 1 in T columns. node_regression: numbers in T columns.
  Task task = Task::node_class;
  /// Ids, one a line: all three, or none.
  std::string train = {}, val = {}, test = {};
  bool headers = false;  ///< the first line of features and labels is a header, whatever stands there
};

/// Reads them for the nodes of `data`, whose graph is there: its x, y, classes, task, splits. Throws
/// DataError naming file and line: an id that is no node's, an id twice, a row with other columns than the
/// first, a number that is none, a node without features, a file by rows with more or fewer rows than nodes,
/// a split that is empty or holds a node twice or one without a label.
void read_node_files(const NodeFiles& files, const NodeIds& ids, Dataset& data, Progress* reading);

}  // namespace adj
