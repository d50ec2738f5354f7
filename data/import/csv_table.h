#pragma once

#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <optional>
#include <string>
#include <vector>

namespace adj {

/// A CSV file with a header, read row by row (RFC 4180): fields in double quotes may contain separators, line
/// ends and doubled quotes. Empty lines are skipped, except in a single-column file. Throws DataError naming
/// the line for a row with another number of fields than the header, a quote that is not closed, or not
/// within 8 MiB, text after a closing quote, a missing header, or more than a million columns.
class CsvTable {
 public:
  /// `separator`: by default detected from the header.
  explicit CsvTable(TextSource& source, std::optional<Separator> separator = {});

  const std::vector<std::string>& header() const { return header_; }
  /// Index of a column, from 0; empty if there is none of that name. Throws for duplicates.
  std::optional<size_t> column(std::string_view name) const;
  /// False at the end. Fields are trimmed unless quoted, and valid until the next call.
  bool next();
  std::string_view field(size_t column) const { return fields_[column]; }
  size_t columns() const { return header_.size(); }
  /// First line of the row.
  int64_t line_number() const { return line_; }
  /// Throws DataError "FILE:LINE: message" for this row.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    source_.fail(line_, format, std::forward<Args>(args)...);
  }

 private:
  void read_record();
  size_t read_quoted(size_t at, std::string& field);

  TextSource& source_;
  Separator separator_;
  std::string record_;  // for a row that spans several lines
  int64_t line_ = 0;
  std::vector<std::string> header_, fields_;
};

}  // namespace adj
