#pragma once

#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/import/table_head.h>

#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// A table with one row per node, or per graph for tasks of graphs, one column of which decides the split.
/// Its text is as for edge lists (import_edge_list).
struct SplitTable {
  std::string path;     ///< a text file, or a table of an SQLite file
  std::string column;   ///< its name in the header, or its number from 1
  std::string id = {};  ///< the column of ids, named the same way; default as node_columns()
  bool by_row = false;  ///< no ids: row i, from 0, belongs to node i, in the order before `reorder`
  /// find_out: a first row with a name or no value in `column`; an error if its number is a field of the row.
  Header header = Header::find_out;
  TextFormat text = {};
  /// With by_row: whether the table may be in another order than the dataset. Then notes say which of the
  /// dataset's names the first rows belong to, and a table that has these names is refused.
  bool doubt_order = false;
  std::string item = {};  ///< what a row is, for messages; default: node or graph
};

// Rows are matched by the dataset's ids or names of nodes, else by their numbers, from 0, in the order before
// `reorder`; graphs by their numbers; `file` is the dataset's, for messages. Nodes without a label are in no
// part, as those without a row or with a missing value; rows of other nodes are passed over. `notes` gets a
// line about each of these, with counts and names. All throw DataError naming file and line: a column that
// does not exist, an invalid value, a node with two rows, ids none of which is a node's, an empty part.

/// The number of the part that a text names: 0 for train, 1 for val, 2 for test; -1: none.
int part_named(std::string_view text);

/// The part that the column names, in any case: train or training; val, valid, validation or dev; test or
/// testing.
Split split_by_column(const Dataset& data, const std::string& file, const SplitTable& table,
                      std::vector<std::string>& notes);

/// Where the parts of a split by time end.
struct TimeCuts {
  SplitFractions fractions = {.val = 0.2, .test = 0.2};  ///< of the labelled nodes
  /// Instead: the last times of train and of val, as in the table; a date includes all of it.
  std::string train_until = {}, val_until = {};
};

/// The earliest nodes train, the latest test. Nodes of equal times stay together: a cut is moved to the
/// nearest change of time, which `notes` says. Times as time_in(), all of one kind.
Split split_by_time(const Dataset& data, const std::string& file, const SplitTable& table,
                    const TimeCuts& cuts, std::vector<std::string>& notes);

}  // namespace adj
