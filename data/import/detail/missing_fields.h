#pragma once

#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/node_columns.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

namespace adj {

/// Fields without a value, for notes: how many lines have some, in which columns, and the first line.
class MissingFields {
 public:
  /// In the order of lines.
  void add(int64_t line, int64_t column) {
    if (lines_ == 0) first_ = line;
    lines_ += line != last_;
    last_ = line;
    columns_.insert(column);
  }
  void merge(const MissingFields& later) {
    if (lines_ == 0) first_ = later.first_;
    lines_ += later.lines_;
    columns_.insert(later.columns_.begin(), later.columns_.end());
  }
  int64_t lines() const { return lines_; }
  /// ", in column 1 (src), column 2 (dst), the first in line 3", for lines() > 0.
  std::string place(std::span<const std::string> names) const {
    std::vector<std::string> columns;
    for (const int64_t column : columns_) columns.push_back(column_text(column, names));
    return fmt::format(", in {}, the first in line {}", detail::listed(columns, 5), first_);
  }

 private:
  int64_t lines_ = 0, first_ = 0, last_ = 0;
  std::set<int64_t> columns_;
};

}  // namespace adj
