#pragma once

#include <adjoint/data/import/records.h>

#include <cstdint>
#include <string>
#include <vector>

namespace adj::graphland {

/// The used fields of a GraphLand folder's info.yaml; others are ignored.
struct Info {
  enum class Kind { binary, multiclass, regression };
  Kind task = Kind::binary;
  std::string target;
  std::vector<std::string> numerical;  ///< without the fraction columns
  std::vector<std::string> fraction;
  std::vector<std::string> categorical;
};

/// Throws DataError with the line: not YAML, larger than 1 MiB, a key missing or of another kind, a duplicate
/// column.
Info read_info(const std::string& path);

/// Maximum number of nodes, and of edges in both directions.
constexpr int64_t kMost = (int64_t{1} << 31) - 2;

/// A CSV file of GraphLand with a header, whose first column is the node number. Empty lines are skipped. All
/// errors are one-line DataErrors naming file, line and column: from the functions below, for a row with
/// another number of fields than the header, and for more than a million columns.
class NodeTable {
 public:
  NodeTable(const std::string& path, Progress& reading);

  /// Index of a column by name. Throws if there is none, or several.
  size_t column(const std::string& name) const;
  std::vector<size_t> columns(const std::vector<std::string>& names) const;

  /// Moves to the next row; false at the end.
  bool next();
  /// Number in the current row; NaN if missing.
  float number(size_t column) const;
  int32_t category(size_t column) const;
  bool flag(size_t column) const;

  /// Rows read so far.
  int64_t rows() const { return rows_; }
  void expect_rows(int64_t nodes) const;
  [[noreturn]] void fail(size_t column, std::string_view expected) const;
  template <class... Args>
  [[noreturn]] void fail_file(fmt::format_string<Args...> format, Args&&... args) const {
    source_.fail(0, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  [[noreturn]] void fail_row(fmt::format_string<Args...> format, Args&&... args) const {
    source_.fail(reader_.number(), format, std::forward<Args>(args)...);
  }

 private:
  void read_fields();

  TextSource source_;
  RecordReader reader_;
  std::vector<std::string> header_, fields_;
  int64_t rows_ = 0;
};

}  // namespace adj::graphland
