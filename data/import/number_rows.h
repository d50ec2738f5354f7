#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/text_source.h>

#include <limits>

namespace adj {

/// Text format of read_rows().
struct RowFormat {
  int64_t columns = 0;   ///< per row; 0: as in the first row
  bool header = false;   ///< skip the first line
  bool missing = false;  ///< for floating numbers: is_missing() values become NaN
  int64_t least = std::numeric_limits<int64_t>::min();  ///< for integers
  int64_t most = std::numeric_limits<int64_t>::max();   ///< likewise; both are inclusive

  /// Whether a line is not a row: the header, or an empty one that is not a single missing value.
  bool skips(int64_t line_number, std::string_view line) const;
};

/// Parses the rows of a text, separated by commas, in parallel, to [rows, columns] of T (int32_t, int64_t or
/// float). Empty lines are skipped, unless a row is a single missing value. Throws DataError naming the line:
/// a row with another number of fields than the others, a field that is not a number of that type or is out
/// of range, 2^31 or more rows. A text without rows gives [0, columns]. Takes about 100 MB more than the
/// result.
template <class T>
Tensor read_rows(TextSource& source, const RowFormat& format);

extern template Tensor read_rows<int32_t>(TextSource&, const RowFormat&);  ///< compiled in number_rows.cpp
extern template Tensor read_rows<int64_t>(TextSource&, const RowFormat&);  ///< compiled in number_rows.cpp
extern template Tensor read_rows<float>(TextSource&, const RowFormat&);    ///< compiled in number_rows.cpp

/// The line of row `row`, from 0, of read_rows() with this format, found by reading the file again; 0: the
/// file was changed meanwhile.
int64_t line_in(const std::string& path, const RowFormat& format, int64_t row);

/// Throws DataError "FILE:LINE: message" for row `row`, from 0, of read_rows() with this format, for errors
/// that show only after all rows are read.
[[noreturn]] void fail_row_with(const std::string& path, const RowFormat& format, int64_t row,
                                const std::string& message);
/// The same with a formatted message.
template <class... Args>
[[noreturn]] void fail_row(const std::string& path, const RowFormat& format, int64_t row,
                           fmt::format_string<Args...> text, Args&&... args) {
  fail_row_with(path, format, row, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace adj
