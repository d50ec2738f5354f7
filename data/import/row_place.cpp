#include <adjoint/data/import/detail/row_place.h>

namespace adj {

void fail_row(const std::string& path, const RowFormat& format, int64_t row, const std::string& message) {
  TextSource source(path);
  const bool blank_is_missing = format.missing && format.columns == 1;
  for (std::string_view line; source.next(line);) {
    if (format.header && source.line_number() == 1) continue;
    if (!line.empty() && format.comment.find(line[0]) != std::string_view::npos) continue;
    if (trimmed(line).empty() && !blank_is_missing) continue;
    if (row-- == 0) source.fail(source.line_number(), "{}", message);
  }
  source.fail(0, "{}", message);  // the file was changed meanwhile
}

}  // namespace adj
