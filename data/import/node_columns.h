#pragma once

#include <adjoint/data/import/table_head.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Columns of a table of nodes that the user chose: names of the header, or numbers from 1. Empty: the names
/// decide, or the first column is the id and the rest are features.
struct NodeColumnNames {
  std::string id = {};
  std::string label = {};  ///< "none": no label, whatever the columns are called
  /// Features; empty: all others.
  std::vector<std::string> features = {};
  /// Not features, and not labels by their names.
  std::vector<std::string> without = {};
  std::vector<std::string> typed = {};  ///< features by their type, if they exist: no ids or splits
  bool labels_alone = false;            ///< the table has ids and labels, no features
  std::vector<std::string> ends = {};   ///< names of the columns that have the same ids in tables of edges
};

/// Columns of a table of nodes, from 0.
struct NodeColumns {
  int64_t id = 0;                 ///< -1: rows have no id
  int64_t label = -1;             ///< -1: none
  std::vector<int64_t> features;  ///< as chosen, else ascending
  /// train_mask, val_mask and test_mask of each split (of several train_mask_0, …, where a part may have one
  /// mask for all), no features unless they are chosen.
  std::vector<std::array<int64_t, 3>> masks = {};
  std::vector<std::string> lone_masks = {};          ///< names of those that are there, if not all are
  std::string missing_mask = {};                     ///< the first one that is not
  bool has_masks() const { return !masks.empty(); }  ///< all that splits need
  /// Further columns that say the split: no features unless they are chosen.
  std::vector<int64_t> splits = {};
  /// Features that may be splits by their names: fold, or test of 0 and 1.
  std::vector<int64_t> doubtful_splits = {};
  /// Features that count the rows by their names and numbers: rownames, "Unnamed: 0.1".
  std::vector<int64_t> row_numbers = {};
  /// Columns called as ids in a file of labels by row, which are passed over.
  std::vector<int64_t> row_ids = {};
  /// `id` was found, but not as a first column whose name says ids, or there are others that may be it.
  bool guessed_id = false;
  /// Where several columns may have the ids, `id` first: beside a first column without a name, or called
  /// index, all without repeats and fractions; else of these those that are called as ids or numbers of
  /// things are, or as ends of edges. Else empty.
  std::vector<int64_t> possible_ids = {};

  /// "; ids from column 2 (user_id)", or nothing.
  std::string id_note(std::span<const std::string> names) const;
  /// "; passed over as a split, no feature: fold (…)", or, if splits are of other `split_items` than the
  /// rows, each an `item`, "; passed over, as they are splits of nodes and the task is of edges: train_mask,
  /// part"; or nothing.
  std::string split_note(std::span<const std::string> names, std::string_view item,
                         std::string_view split_items) const;
  /// "; "fold" looks like a split and is a feature (…)", and the same of numbers of rows; or nothing.
  std::string doubtful_note(std::span<const std::string> names) const;
  /// "; passed over, as rows go by their order: id", or nothing.
  std::string row_id_note(std::span<const std::string> names) const;
};

/// The first fields of every column, without the header, at most 1000.
using FirstFields = std::vector<std::vector<std::string>>;
/// Of a file whose head is known.
FirstFields first_fields(const std::string& path, const TextInput& input, const TableHead& head);

/// Finds them in a table of `columns` columns by their names, which may be empty. By name id, node and
/// node_id are ids, else nid, user_id, name and the like, if no field repeats; label and class are labels, in
/// any case. A first column without a name, or called index, is a data frame's index, which is the id if
/// nothing else is (possible_ids; detail::matching_id() decides by the ids of edges). `by_row`: there is no
/// id. Throws DataError beginning with `place` for a choice that names no column, for several columns that
/// may be the id, and for features by row beside a column called id. `is_node`: of ids; a doubtful name of
/// ids without any node loses to a first column with some.
NodeColumns node_columns(std::span<const std::string> names, const FirstFields& fields, int64_t columns,
                         const NodeColumnNames& chosen, bool by_row, const std::string& place,
                         const std::function<bool(std::string_view)>& is_node = {});

/// The columns with the names `known`, in their order. Throws DataError beginning with `place` that names
/// those that are missing and those that are new.
std::vector<int64_t> columns_like(std::span<const std::string> known, std::span<const std::string> names,
                                  int64_t columns, const std::string& place);

/// Whether columns of ids have such a name: node_id, user_id, name.
bool names_ids(const std::string& name);
/// Whether columns of labels have such a name: label, class.
bool names_label(const std::string& name);

/// Whether a column of a table of edges has numbers or names of its rows: a data frame's index, edge_id.
bool tells_rows(int64_t column, std::span<const std::string> names, const FirstFields& fields);

/// The name of a column; "column 3" without one.
std::string column_name(int64_t column, std::span<const std::string> names);
/// "; passed over: name, column 4": all but the columns `read`; empty if none is left.
std::string passed_over(std::span<const int64_t> read, std::span<const std::string> names, int64_t columns);
/// The name of a column in messages: "column 3 (age)".
std::string column_text(int64_t column, std::span<const std::string> names);
/// The column, from 0, that a choice means: a name, or a number from 1. Throws DataError beginning with
/// `place`.
int64_t chosen_column(const std::string& choice, std::span<const std::string> names, int64_t columns,
                      const std::string& place);
/// Throws DataError beginning with `place` for a choice of several columns, as "a,b".
void expect_one_label(const std::string& choice, std::span<const std::string> names,
                      const std::string& place);
/// The choice that means a column: its name, or its number where another has that name, too.
std::string choice_for(int64_t column, std::span<const std::string> names);

}  // namespace adj
