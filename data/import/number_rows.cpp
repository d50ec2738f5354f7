#include <adjoint/core/text.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/growing_rows.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>
#include <optional>
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

/// Rows of one block.
template <class T>
struct BlockRows {
  std::vector<T> values;
  int64_t count = 0;
  int64_t last_line = 0;
};

}  // namespace

bool RowFormat::skips(int64_t line_number, std::string_view line) const {
  if (header && line_number == 1) return true;
  return trimmed(line).empty() && !(missing && columns == 1);
}

int64_t line_in(const std::string& path, const RowFormat& format, int64_t row) {
  TextSource source(path);
  for (std::string_view line; source.next(line);)
    if (!format.skips(source.line_number(), line) && row-- == 0) return source.line_number();
  return 0;
}

void fail_row_with(const std::string& path, const RowFormat& format, int64_t row,
                   const std::string& message) {
  TextSource(path).fail(line_in(path, format, row), "{}", message);
}

template <class T>
Tensor read_rows(TextSource& source, const RowFormat& row_format) {
  // The first block is parsed separately if its first row determines the columns of all others; blocks depend
  // on the file only.
  RowFormat format = row_format;
  int64_t& columns = format.columns;
  const auto parse = [&](const TextBlock& block) {
    BlockRows<T> rows;
    for (LineCursor cursor(block); cursor.next();) {
      rows.last_line = cursor.number();
      if (format.skips(cursor.number(), cursor.line())) continue;
      int64_t found = 0;
      for (FieldCursor field(cursor.line(), Separator::comma); field.next();)
        rows.values.push_back(number<T>(source, cursor.number(), ++found, field.field(), format));
      if (columns == 0) columns = found;
      if (found != columns) source.fail(cursor.number(), "{} fields, expected {}", found, columns);
      ++rows.count;
    }
    return rows;
  };
  GrowingRows<T> all;
  int64_t count = 0;
  const auto take = [&](BlockRows<T> rows) {
    all.append(rows.values);
    count += rows.count;
    if (count > kMostRows) source.fail(rows.last_line, "expected at most {} rows, found more", kMostRows);
  };
  TextBlock first;
  while (columns == 0 && source.next(first)) take(parse(first));
  source.for_blocks(parse, take);
  return all.take({count, columns});
}

template Tensor read_rows<int32_t>(TextSource&, const RowFormat&);
template Tensor read_rows<int64_t>(TextSource&, const RowFormat&);
template Tensor read_rows<float>(TextSource&, const RowFormat&);

}  // namespace adj
