#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace adj::detail {

/// How texts are written: as JSON strings, or as CSV, quoted if needed (RFC 4180). `escaped`: with a ' before
/// a text that a spreadsheet would run as a formula (it begins with =, +, -, @, tab or carriage return).
enum class TextForm { json, csv, escaped };

/// A column of a text table: its title, and a thread-safe function that writes the cell of a row.
struct Column {
  std::string title;
  std::function<void(fmt::memory_buffer& buffer, int64_t row, TextForm form)> cell;

  /// number(row) is an integer or a float, written with the fewest digits that round-trip.
  template <class F>
  static Column of_numbers(std::string title, F number) {
    return {std::move(title), [number](fmt::memory_buffer& buffer, int64_t row, TextForm) {
              fmt::format_to(std::back_inserter(buffer), "{}", number(row));
            }};
  }
  /// text(row) is a string view.
  template <class F>
  static Column of_texts(std::string title, F text) {
    return {std::move(title), [text](fmt::memory_buffer& buffer, int64_t row, TextForm form) {
              append_text(buffer, text(row), form);
            }};
  }

  static void append_text(fmt::memory_buffer& buffer, std::string_view text, TextForm form);
};

/// True if write_table() supports this file extension.
bool is_table(const std::string& path);
/// Writes CSV with a header, or one JSON object per line, by the extension of `path`: .csv or .jsonl. The
/// file appears when complete. `escape_formulas`: of CSV. Throws DataError.
void write_table(const std::string& path, const std::vector<Column>& columns, int64_t rows,
                 bool escape_formulas = false);

}  // namespace adj::detail
