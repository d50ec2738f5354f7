#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/table_head.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace adj {

/// Fields of chosen columns in the rows of one block of a table. Valid while it is handed over.
struct RowFields {
  std::vector<std::string_view> fields;  ///< [rows, columns]
  std::vector<int64_t> lines;
  std::vector<std::unique_ptr<std::string>> copies;  ///< of quoted fields
  SkippedLines skipped;
};

/// A table whose columns are found by names, or by numbers where there is no header.
class TableRows {
 public:
  /// `chosen`: columns that the user named. A first row is a header if it has one of these names or a common
  /// name of a column of ids, ends or labels, or if the second row has a number below a word; it is none if
  /// it has a number. Throws DataError for a table that leaves it open, or without rows.
  TableRows(const std::string& path, const TextFormat& text, Header header,
            std::span<const std::string> chosen);

  const TableHead& head() const { return head_; }
  bool has_header() const { return head_.has_header(); }
  /// Whether only its names say so, or do not.
  bool guessed_header() const { return guessed_header_; }
  int64_t columns() const { return head_.columns(); }
  /// Of the header; empty without one.
  std::span<const std::string> names() const { return head_.names(); }
  /// The column that a choice means; -1 for an empty one.
  int64_t column(const std::string& choice) const;
  /// Throws if a column occurs twice; -1 may.
  void expect_distinct(std::vector<int64_t> columns) const;
  /// "FILE:LINE".
  const std::string& place() const { return place_; }
  TextSource& source() { return source_; }
  /// The fields of the first row that is no header.
  const std::vector<std::string>& first_row() const { return has_header() ? head_.second : head_.first; }

  FirstFields first_fields() const { return adj::first_fields(path_, text_.input, head_); }

  /// Passes over the table, reading these columns in parallel; take() gets the blocks in order. Throws
  /// DataError for a row with another number of fields. Returns the number of rows.
  int64_t read(const std::vector<int64_t>& columns, const std::function<void(const RowFields&)>& take);
  const SkippedLines& skipped() const { return skipped_; }  ///< after read()
  /// "FILE: separated by …", after read().
  std::string note() const;

 private:
  RowFields parse(const TextBlock& block, const std::vector<int64_t>& slots, size_t width) const;

  std::string path_, place_;
  TextFormat text_;
  TextSource source_;
  TableHead head_;
  bool guessed_header_ = false;
  SkippedLines skipped_;
};

/// int64 [items], as ItemTable::times: integers, or dates (time_in()) as microseconds since 1970-01-01 UTC.
/// `item(id, row)` is the number of a row's item, -1: none; `ids`: the column that it gets, -1: none. Appends
/// a note. Throws DataError for a time of another kind than the first, and numbers that are no 64-bit
/// integers.
Tensor read_times(TableRows& rows, int64_t column, int64_t ids, int64_t items,
                  const std::function<int32_t(std::string_view id, int64_t row)>& item,
                  std::vector<std::string>& notes);

}  // namespace adj
