#include <adjoint/core/text.h>
#include <adjoint/data/import/growing_rows.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>
#include <type_traits>

namespace adj {

namespace {

constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();

template <class T>
std::optional<T> number_of(std::string_view field) {
  if constexpr (std::is_same_v<T, float>) {
    return float_in(field);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return int32_in(field);
  } else {
    return integer_in(field);
  }
}

template <class T>
T number(const TextSource& source, int64_t line, int64_t column, std::string_view field,
         const RowFormat& format) {
  const std::optional<T> value = number_of<T>(field);
  if constexpr (std::is_floating_point_v<T>) {
    if (value) return *value;
    if (format.missing && is_missing(field)) return std::numeric_limits<T>::quiet_NaN();
    source.fail(line, "\"{}\" in column {}, expected a finite number within float32{}", excerpt(field),
                column, format.missing ? ", or a missing value" : "");
  } else {
    if (value && *value >= format.least && *value <= format.most) return *value;
    const int64_t least = std::max<int64_t>(format.least, std::numeric_limits<T>::min());
    const int64_t most = std::min<int64_t>(format.most, std::numeric_limits<T>::max());
    source.fail(line, "\"{}\" in column {}, expected an integer from {} to {}", excerpt(field), column, least,
                most);
  }
}

/// Numbers contain no blanks, so blanks are allowed next to tabs; an empty field between two tabs counts only
/// if values may be missing.
Separator separator_of_numbers(std::string_view line, const RowFormat& format) {
  const Separator separator = separator_of(line);
  return separator == Separator::tab && !format.missing ? Separator::blanks : separator;
}

/// Rows of one block.
template <class T>
struct Rows {
  std::vector<T> values;
  int64_t count = 0;
  int64_t last_line = 0;
};

}  // namespace

bool RowFormat::skips(int64_t line_number, std::string_view line) const {
  if (header && line_number == 1) return true;
  if (!line.empty() && comment.find(line[0]) != std::string_view::npos) return true;
  return trimmed(line).empty() && !(missing && columns == 1);
}

void fail_row_with(const std::string& path, const RowFormat& format, int64_t row,
                   const std::string& message) {
  TextSource source(path);
  for (std::string_view line; source.next(line);)
    if (!format.skips(source.line_number(), line) && row-- == 0)
      source.fail(source.line_number(), "{}", message);
  source.fail(0, "{}", message);  // the file was changed meanwhile
}

template <class T>
int64_t append_numbers(const TextSource& source, int64_t line_number, std::string_view line,
                       Separator separator, const RowFormat& format, std::vector<T>& values) {
  int64_t columns = 0;
  for (FieldCursor at(line, separator); at.next();)
    values.push_back(number<T>(source, line_number, ++columns, at.field(), format));
  return columns;
}

template <class T>
Tensor read_rows(TextSource& source, const RowFormat& given) {
  // The first block is parsed alone, since its first row determines the format for all others; blocks depend
  // on the file only.
  RowFormat format = given;
  std::optional<Separator>& separator = format.separator;
  int64_t& columns = format.columns;
  const auto parse = [&](const TextBlock& block) {
    Rows<T> rows;
    for (LineCursor at(block); at.next();) {
      rows.last_line = at.number();
      const std::string_view line = at.line();
      if (format.skips(at.number(), line)) continue;
      if (!separator) separator = separator_of_numbers(line, format);
      const size_t before = rows.values.size();
      const int64_t found = append_numbers<T>(source, at.number(), line, *separator, format, rows.values);
      if (found == 0 && columns == 1 && format.missing)
        rows.values.push_back(std::numeric_limits<T>::quiet_NaN());
      if (columns == 0) columns = found;
      if (static_cast<int64_t>(rows.values.size() - before) != columns)
        source.fail(at.number(), "{} fields, expected {}", found, columns);
      ++rows.count;
    }
    return rows;
  };
  GrowingRows<T> all;
  int64_t count = 0, last_line = 0;
  const auto take = [&](Rows<T> rows) {
    all.append(rows.values);
    count += rows.count;
    if (rows.last_line > 0) last_line = rows.last_line;
    if (count > kMostRows) source.fail(last_line, "more than {} rows, expected at most that", kMostRows);
    if (format.rows >= 0 && count > format.rows)
      source.fail(last_line, "{} rows by then, expected {}", count, format.rows);
  };
  TextBlock first;
  while ((!separator || columns == 0) && source.next(first)) take(parse(first));
  source.for_blocks(parse, take);
  if (format.rows >= 0 && count != format.rows)
    source.fail(last_line, "{} rows, expected {}", count, format.rows);
  return all.take({count, columns});
}

template Tensor read_rows<int32_t>(TextSource&, const RowFormat&);
template Tensor read_rows<int64_t>(TextSource&, const RowFormat&);
template Tensor read_rows<float>(TextSource&, const RowFormat&);
template int64_t append_numbers(const TextSource&, int64_t, std::string_view, Separator, const RowFormat&,
                                std::vector<int32_t>&);
template int64_t append_numbers(const TextSource&, int64_t, std::string_view, Separator, const RowFormat&,
                                std::vector<int64_t>&);
template int64_t append_numbers(const TextSource&, int64_t, std::string_view, Separator, const RowFormat&,
                                std::vector<float>&);

}  // namespace adj
