#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace adj::detail {

/// A column of a text table: its title, and a thread-safe function that writes the cell of a row.
struct Column {
  std::string title;
  std::function<void(fmt::memory_buffer& to, int64_t row, bool json)> cell;

  /// number(row) is an integer or a float, written with the fewest digits that round-trip.
  template <class F>
  static Column of_numbers(std::string title, F number) {
    return {std::move(title), [number](fmt::memory_buffer& to, int64_t row, bool) {
              fmt::format_to(std::back_inserter(to), "{}", number(row));
            }};
  }
  /// text(row) is a string view.
  template <class F>
  static Column of_texts(std::string title, F text) {
    return {std::move(title),
            [text](fmt::memory_buffer& to, int64_t row, bool json) { append_text(to, text(row), json); }};
  }

  /// As a JSON string, or as CSV, quoted if needed (RFC 4180).
  static void append_text(fmt::memory_buffer& to, std::string_view text, bool json);
};

/// True if write_table() supports this file extension.
bool is_table(const std::string& path);
/// Writes CSV with a header, or one JSON object per line, by the extension of `path`: .csv or .jsonl. The
/// file appears when complete. Throws DataError.
void write_table(const std::string& path, const std::vector<Column>& columns, int64_t rows);

}  // namespace adj::detail
