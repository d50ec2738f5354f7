#pragma once

#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <optional>
#include <string>
#include <vector>

namespace adj {

/// A CSV with a header, row by row (RFC 4180): a field may stand in double quotes, and then holds separators,
/// line ends and doubled quotes. Empty lines are passed over, but where there is one column only. Throws
/// DataError naming the line where a row has other fields than the header, a quote opens that is not closed,
/// or not within 8 MiB, something stands behind it, or the file has no header, or one of more than a million
/// columns.
class CsvTable {
 public:
  /// `separator`: by default that of the header.
  explicit CsvTable(TextSource& source, std::optional<Separator> separator = {});

  const std::vector<std::string>& header() const { return header_; }
  /// The number of a column, from 0; empty where there is none of that name. Throws where there are two.
  std::optional<size_t> column(std::string_view name) const;
  /// False at the end. Fields are trimmed unless they were quoted, and stand until the next call.
  bool next();
  std::string_view field(size_t column) const { return fields_[column]; }
  size_t columns() const { return header_.size(); }
  /// On which the row begins.
  int64_t line_number() const { return line_; }
  /// Throws DataError "FILE:LINE: message" of this row.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    source_.fail(line_, format, std::forward<Args>(args)...);
  }

 private:
  void read_record();
  size_t read_quoted(size_t at, std::string& field);

  TextSource& source_;
  Separator separator_;
  std::string record_;  // where it goes over several lines
  int64_t line_ = 0;
  std::vector<std::string> header_, fields_;
};

}  // namespace adj
