#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/data/import/records.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace adj {

/// Whether the first row of a file is a header; `find_out` detects it.
/// `comment`: the comment above it is.
enum class Header : uint8_t { find_out, yes, no, comment };
constexpr auto names_of(Header) { return std::array{"auto", "yes", "no", "comment"}; }  ///< in options

/// How text files are written; what is absent is found.
struct TextFormat {
  /// Comment prefix; empty: no comments. Default: lines before the first row that begin with # or %.
  std::optional<std::string> comment = {};
  /// Default: the first of tab, semicolon and, without a decimal comma, comma outside of quotes in the first
  /// row, else blanks.
  std::optional<Separator> separator = {};
  /// Default: a point; but what may have commas is refused.
  std::optional<Decimal> decimal = {};
  TextInput input = {};  ///< encoding; copies of pipes and of SQLite tables
};

/// Beginning of a file of rows.
struct TableHead {
  RecordFormat format;                               ///< its first line is that of the first row
  std::string row = {};                              ///< the first row, verbatim
  std::vector<std::string> first = {}, second = {};  ///< fields of the first two rows; empty: no such row
  int64_t comments = 0;                              ///< number of lines before the first row
  std::string first_comment = {};                    ///< the first of them
  /// Fields of the last of them, if it has as many as the first row, several and all words: names of columns,
  /// perhaps.
  std::vector<std::string> commented = {};
  int64_t comment_line = 0;  ///< of the last of them
  bool empty = true;         ///< no rows
  /// The first row has the names of columns for certain, as it is of a table of an SQLite file.
  bool is_table = false;
  std::optional<Decimal> decimal = {};  ///< as chosen; absent: no choice
  std::string found = {};               ///< TextSource::found()

  int64_t columns() const { return static_cast<int64_t>(first.size()); }  ///< of the first row
  /// Whether the first row is a header, as a reader has found, and sets by format.header_line.
  bool has_header() const { return format.header_line > 0; }
  /// What a reader has found, for another pass.
  Header header() const {
    return !has_header()                            ? Header::no
           : format.header_line < format.first_line ? Header::comment
                                                    : Header::yes;
  }
  /// Of the header; empty without one.
  std::span<const std::string> names() const {
    return has_header() ? std::span<const std::string>(first) : std::span<const std::string>();
  }
  /// "FILE:LINE" of the first row.
  std::string place(const std::string& path) const {
    return fmt::format("{}:{}", excerpt(path), format.first_line);
  }
  /// Takes the first row as the header, with its repetitions, unless it has one column or a number.
  void take_header();
  /// Takes the comment above the first row as the header, which then is `first`: if `header` says so, or is
  /// to be found out and the comment's words are between commas, tabs and the like, or `says_columns` is true
  /// of them; where the first row may be a header itself, only if it is true of them alone. Throws DataError
  /// if there is no such comment, but `header` says so.
  bool take_comment(const std::string& path, Header header,
                    const std::function<bool(const std::vector<std::string>& names)>& says_columns);
  /// Separator, header and what is passed over, for a summary: "separated by a comma; line 1 taken as header:
  /// src,dst; 2 lines of comments".
  std::string str(const SkippedLines& behind) const;
  /// For a file without rows: " in addition to 2 lines of comments (--comment defines them)", or empty.
  std::string beside_comments() const;
  /// The number in a field, with `decimal`, or a point without a choice.
  std::optional<float> number_in(std::string_view field) const {
    return float_in(field, decimal.value_or(Decimal::point));
  }
  /// " (--decimal comma: numbers have a decimal comma)" if the field has a comma, is a number with it as the
  /// decimal mark, but not one of thousands, as 4,316, and no choice was made; else empty.
  std::string_view decimal_hint(std::string_view field) const;
  /// "4 fields, expected 3 as in the first line", of a row of `count`; with the reason if rows have names.
  std::string wrong_count(int64_t count) const;
  bool has_numbers() const;  ///< in the first row
  /// False if one of the first row's fields is a number, unless it names columns all the same.
  bool may_be_header() const;
  /// True if numbers of the first row are names, as of years: all its fields differ, and it has a common name
  /// of ids, of both ends or of labels, or a data frame's corner, where the second row has none.
  bool names_beside_numbers() const;
  /// True if the first row has numbers in fields that all differ, and a word in this one: a header or not.
  bool is_word_beside_numbers(int64_t column) const;
  /// True if a column has a number in the second row, and a word in the first.
  bool numbers_under_words() const;
};

/// Reads it. Tables of SQLite files have one form, whatever `text` says.
///
/// `blank_rows`: empty lines are rows. `is_row(fields)` decides whether a comment by # or %, without a blank
/// after it and with as many fields as the first row, may be a row: then it is refused as ambiguous. Throws
/// DataError.
TableHead read_head(
    const std::string& path, const TextFormat& text, bool blank_rows,
    const std::function<bool(const TableHead& head, const std::vector<std::string>& fields)>& is_row);

/// True for common names of node or label columns: "src", "Node_ID", "label".
bool is_column_name(std::string_view field);

}  // namespace adj
