#pragma once

#include <adjoint/data/import/csv_table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace adj::graphland {

/// Of a node, and of edges in both directions.
constexpr int64_t kMost = (int64_t{1} << 31) - 2;

/// The table of one file of GraphLand's, whose first column counts the nodes. All errors are DataErrors of
/// one line naming file, line and column.
class NodeTable {
 public:
  NodeTable(const std::string& path, Progress& reading);

  /// The place of a column by its name.
  size_t column(const std::string& name) const;
  std::vector<size_t> columns(const std::vector<std::string>& names) const;

  /// Goes to the next row; false at the end.
  bool next();
  /// Of the row: nan where it is missing.
  float number(size_t column) const;
  int32_t category(size_t column) const;
  bool flag(size_t column) const;

  /// So far.
  int64_t rows() const { return rows_; }
  void expect_rows(int64_t nodes) const;
  [[noreturn]] void fail(size_t column, std::string_view expected) const;
  [[noreturn]] void fail_file(const std::string& message) const;
  template <class... Args>
  [[noreturn]] void fail_row(fmt::format_string<Args...> format, Args&&... args) const {
    table_.fail(format, std::forward<Args>(args)...);
  }

 private:
  TextSource source_;
  CsvTable table_;
  int64_t rows_ = 0;
};

}  // namespace adj::graphland
