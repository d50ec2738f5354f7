#pragma once

#include <adjoint/data/import/detail/item_names.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/split_table.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace adj::detail {

/// Value of a labelled node or graph.
struct TableValue {
  int32_t item;
  int64_t line;
  std::string text;
};

/// The table's column for the labelled items of a dataset.
class SplitColumn {
 public:
  using IsValue = bool (*)(std::string_view);

  /// `file`: the dataset's. `is_value` decides whether the first row is a header.
  SplitColumn(const Dataset& data, const std::string& file, const SplitTable& table, IsValue is_value);

  const TextSource& source() const { return source_; }
  std::string column() const { return column_text(column_, names()); }
  const ItemNames& items() const { return items_; }
  /// All values of items with a label; `notes` gets lines on the format and on what is passed over.
  std::vector<TableValue> read(std::vector<std::string>& notes);

 private:
  std::span<const std::string> names() const {
    return header_line_ > 0 ? std::span<const std::string>(head_.first) : std::span<const std::string>();
  }
  void find_columns(IsValue is_value);
  std::pair<std::string, std::string> fields(int64_t line, std::string_view record) const;
  void expect_matches(int64_t rows, int64_t strangers) const;

  const Dataset& data_;
  SplitTable table_;
  ItemNames items_;
  TextSource source_;
  TableHead head_;
  int64_t header_line_ = 0, column_ = 0, id_ = -1;
  std::string id_note_;
};

}  // namespace adj::detail
