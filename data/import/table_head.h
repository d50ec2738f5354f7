#pragma once

#include <adjoint/data/import/records.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace adj {

/// Is the first row of a file a header? `find_out` goes by what stands there.
enum class Header : uint8_t { find_out, yes, no };

/// How a file of rows begins.
struct TableHead {
  RecordFormat format;                               ///< its first line is that of the first row
  std::string row = {};                              ///< the first one as it stands
  std::vector<std::string> first = {}, second = {};  ///< fields of the first two rows; empty: there is none
  int64_t comments = 0;                              ///< lines before the first row
  bool empty = true;                                 ///< there is no row

  int64_t columns() const { return static_cast<int64_t>(first.size()); }
  /// What the rows' separator and the comments are, and which line is the header (0: none), for a summary:
  /// "separated by a comma; line 1 taken as header: src,dst; 2 lines of comments".
  std::string str(int64_t header_line, int64_t comments_behind) const;
  /// Of a file without rows: " beside 2 lines of comments (--comment says what is one)", or nothing.
  std::string beside_comments() const;
  /// May the first row be a header? Not where one of its fields is a number.
  bool may_be_header() const;
  /// Has a column a number in the second row, and words in the first?
  bool numbers_under_words() const;
};

/// Reads it. Comments are lines that begin with `comment`; where that is not given, lines before the first
/// row that begin with # or %. The separator is the first of tab, semicolon and comma that stands outside of
/// quotes in the first row, else blanks.
///
/// `blank_rows`: lines of nothing are rows. `is_row(fields)` says of a comment, told by # or %, that has no
/// blank behind it and as many fields as the first row, whether it may be a row too: then it is refused, for
/// nobody knows. Throws DataError.
TableHead read_head(
    const std::string& path, const std::optional<std::string>& comment, bool blank_rows,
    const std::function<bool(const TableHead& head, const std::vector<std::string>& fields)>& is_row);

/// What columns are often called that hold nodes or labels: "src", "Node_ID", "label".
bool is_column_name(std::string_view field);

}  // namespace adj
