#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace adj::detail {

/// A column of a table of text: its title, and what writes the cell of a row, of any thread.
struct Column {
  std::string title;
  std::function<void(fmt::memory_buffer& to, int64_t row, bool json)> cell;

  /// number(row) is an integer or a float, written in as few digits as bring it back.
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

  /// As JSON has it, or CSV: in quotes where it needs them (RFC 4180).
  static void append_text(fmt::memory_buffer& to, std::string_view text, bool json);
};

/// Does write_table() know the end of this name?
bool is_table(const std::string& path);
/// CSV with a header, or a JSON object a line, by the end of `path`: .csv or .jsonl. The file appears when it
/// is complete. Throws DataError.
void write_table(const std::string& path, const std::vector<Column>& columns, int64_t rows);

}  // namespace adj::detail
