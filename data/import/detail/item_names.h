#pragma once

#include <adjoint/data/import/node_ids.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adj::detail {

/// Finds nodes or graphs of a dataset by the names that outputs have: nodes/name or nodes/id, else their
/// numbers, from 0, in the order before `reorder`; graphs likewise by graphs/name.
class ItemNames {
 public:
  /// `file`: the dataset's. `decimal`: of the fields to find. `by_row`: by numbers, whatever the names are.
  /// Throws DataError if two nodes have one name; `hint` is appended.
  ItemNames(const Dataset& data, const std::string& file, bool of_graphs, std::optional<Decimal> decimal,
            bool by_row = false, std::string_view hint = "");

  /// "nodes" or "graphs".
  std::string_view word() const { return of_graphs_ ? "graphs" : "nodes"; }
  int64_t count() const { return count_; }
  /// Row of the dataset; -1: none of that name.
  int32_t find(std::string_view field) const { return is_code(field) ? -1 : row_of(ids_.find(field)); }
  int32_t find(std::string_view field, IdSpellings& spellings) const {  ///< counts other spellings
    return is_code(field) ? -1 : row_of(ids_.find(field, spellings));
  }
  /// Whether it begins with a zero, as codes do, where names are integers.
  bool is_code(std::string_view field) const { return !has_texts() && adj::is_code(field); }
  int32_t find_row(int64_t number) const {
    return row_of(number < count_ ? static_cast<int32_t>(number) : -1);
  }
  /// The name of a row, as there are names.
  std::string text(int32_t row) const { return ids_.text(row); }
  bool has_texts() const { return ids_.kind() == NodeIds::Kind::names; }
  /// "names, as 'ada'".
  std::string str() const;
  /// "\"zoe\" is no node, expected names, as 'ada'".
  std::string unknown(std::string_view field) const;

 private:
  int32_t row_of(int32_t number) const {
    return number < 0 || rows_.empty() ? number : rows_[static_cast<size_t>(number)];
  }

  bool of_graphs_;
  int64_t count_;
  NodeIds ids_;
  std::vector<int32_t> rows_;  // by number, if the nodes were reordered
};

}  // namespace adj::detail
