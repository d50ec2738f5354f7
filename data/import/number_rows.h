#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <limits>
#include <optional>

namespace adj {

/// How a text of numbers is read by read_rows().
struct RowFormat {
  std::optional<Separator> separator = {};  ///< that of the first row where it is not given
  int64_t columns = 0;                      ///< of every row; 0: as many as the first has
  int64_t rows = -1;                        ///< expected, -1: any number
  bool header = false;                      ///< the first line is passed over
  std::string_view comment = "#";           ///< lines that begin with one of these characters are passed over
  bool missing = false;                     ///< floating numbers: what is_missing() becomes nan
  int64_t least = std::numeric_limits<int64_t>::min();  ///< of integers
  int64_t most = std::numeric_limits<int64_t>::max();
};

/// The rows of a text as numbers, [rows, columns] of T (int32_t, int64_t or float), parsed in parallel. Empty
/// lines are passed over, but where a row is one missing value. Throws DataError naming the line: a row with
/// more or fewer fields than the others, a field that is no number of that type or out of range, other
/// numbers of rows than expected, 2^31 rows or more. A text without rows is [0, columns]. Takes some 100 MB
/// more than the result.
template <class T>
Tensor read_rows(TextSource& source, const RowFormat& format);

extern template Tensor read_rows<int32_t>(TextSource&, const RowFormat&);
extern template Tensor read_rows<int64_t>(TextSource&, const RowFormat&);
extern template Tensor read_rows<float>(TextSource&, const RowFormat&);

/// The fields of one line as numbers, appended to `values`; their count. Throws as read_rows() does.
template <class T>
int64_t append_numbers(const TextSource& source, int64_t line_number, std::string_view line,
                       Separator separator, const RowFormat& format, std::vector<T>& values);

extern template int64_t append_numbers(const TextSource&, int64_t, std::string_view, Separator,
                                       const RowFormat&, std::vector<int32_t>&);
extern template int64_t append_numbers(const TextSource&, int64_t, std::string_view, Separator,
                                       const RowFormat&, std::vector<int64_t>&);
extern template int64_t append_numbers(const TextSource&, int64_t, std::string_view, Separator,
                                       const RowFormat&, std::vector<float>&);

}  // namespace adj
