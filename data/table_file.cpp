#include <adjoint/core/file.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/table_file.h>

#include <algorithm>

#include <fmt/format.h>

namespace adj::detail {

namespace {

void append(fmt::memory_buffer& buffer, std::string_view text) {
  buffer.append(text.data(), text.data() + text.size());
}

}  // namespace

void Column::append_text(fmt::memory_buffer& buffer, std::string_view text, TextForm form) {
  if (form == TextForm::json) return append(buffer, json_text(text));
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  const std::string escaped = form == TextForm::escaped && formula ? "'" + std::string(text) : "";
  if (!escaped.empty()) text = escaped;
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return append(buffer, text);
  buffer.push_back('"');
  for (const char c : text) {
    if (c == '"') buffer.push_back(c);
    buffer.push_back(c);
  }
  buffer.push_back('"');
}

bool is_table(const std::string& path) { return path.ends_with(".csv") || path.ends_with(".jsonl"); }

void write_table(const std::string& path, const std::vector<Column>& columns, int64_t rows,
                 bool escape_formulas) {
  constexpr int64_t kPart = 1024, kParts = 64;  // rows per thread, and parts in memory
  const bool json = path.ends_with(".jsonl");
  const TextForm form = json ? TextForm::json : escape_formulas ? TextForm::escaped : TextForm::csv;
  std::vector<std::string> before;  // text before each cell
  for (const Column& column : columns)
    before.push_back(!json ? (before.empty() ? "" : ",")
                           : (before.empty() ? "{" : ", ") + json_text(column.title) + ": ");
  FileReplacement file(path);
  int64_t offset = 0;
  const auto write = [&](const fmt::memory_buffer& text) {
    file.write(offset, {text.data(), text.size()});
    offset += static_cast<int64_t>(text.size());
  };
  if (!json) {
    fmt::memory_buffer header;
    for (size_t k = 0; k < columns.size(); ++k) {
      append(header, before[k]);
      Column::append_text(header, columns[k].title, form);
    }
    header.push_back('\n');
    write(header);
  }
  for (int64_t first = 0; first < rows; first += kPart * kParts) {
    const int64_t count = std::min(rows - first, kPart * kParts);
    std::vector<fmt::memory_buffer> parts(static_cast<size_t>(ceil_div(count, kPart)));
    adj::parallel_for(count, kPart, [&](int64_t begin, int64_t end) {
      fmt::memory_buffer& part = parts[static_cast<size_t>(begin / kPart)];
      for (int64_t row = first + begin; row < first + end; ++row) {
        for (size_t k = 0; k < columns.size(); ++k) {
          append(part, before[k]);
          columns[k].cell(part, row, form);
        }
        append(part, json ? "}\n" : "\n");
      }
    });
    for (const fmt::memory_buffer& part : parts) write(part);
  }
  file.commit();
}

}  // namespace adj::detail
