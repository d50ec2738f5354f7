#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/edge_matrix.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/thousands.h>

#include <algorithm>
#include <map>
#include <optional>

namespace adj::detail {

namespace {

/// Rows of one block: the first fields as text, for they may be names, and what is not 0.
struct MatrixRows {
  std::vector<std::string> first;
  std::vector<int64_t> lines;
  std::vector<EdgeMatrix::Entry> entries;
  Rounding rounding, first_rounding;  // of the first fields
  Thousands thousands;                // beside these
};

class MatrixTable {
 public:
  MatrixTable(TextSource& source, const EdgeListOptions& options)
      : source_(source),
        head_(read_head(source.path(), options.text, false, [](const auto&, const auto&) { return false; })) {
    if (head_.empty) source.fail(0, "no rows, expected some{}", head_.beside_comments());
    if (options.header == Header::comment)
      source.fail(0, "a matrix, expected a header, if any, as its first line, no comment");
    if (head_.is_table || options.header == Header::yes ||
        (options.header == Header::find_out && finds_header()))
      head_.format.header_line = head_.format.first_line;
    columns_ = std::ssize(head_.has_header() ? head_.second : head_.first);
    source_.cut_by([this](std::string_view text, int64_t line) { return head_.format.last_end(text, line); });
  }

  EdgeMatrix read() {
    EdgeMatrix matrix;
    std::vector<int64_t> lines;
    Rounding first_rounding;
    Thousands thousands;
    source_.for_blocks([this](const TextBlock& block) { return parse(block); },
                       [&](MatrixRows part) {
                         const int64_t before = std::ssize(names_);
                         matrix.rounding.merge(part.rounding);
                         first_rounding.merge(part.first_rounding);
                         thousands.merge(part.thousands);
                         for (const auto& [row, column, value] : part.entries)
                           matrix.add(before + row, column, value);
                         std::move(part.first.begin(), part.first.end(), std::back_inserter(names_));
                         lines.insert(lines.end(), part.lines.begin(), part.lines.end());
                       });
    const auto nodes = static_cast<int64_t>(names_.size());
    if ((nodes != columns_ && nodes + 1 != columns_) || (nodes + 1 == columns_ && begins_with_values()))
      source_.fail(
          0, "{} rows of {} columns, expected as many rows as columns, beside names{}", nodes, columns_,
          !head_.has_header() && nodes == columns_ + 1 ? " (--header yes: the first line has names)" : "");
    thousands.expect_decimal(source_, head_, "the matrix");
    named_rows_ = nodes + 1 == columns_;
    if (!named_rows_) matrix.rounding.merge(first_rounding);
    set_names(matrix, lines);
    matrix.note = head_.str({}) +
                  (named_rows_          ? "; names from the first column"
                   : head_.has_header() ? ""
                                        : "; nodes by number, from 0") +
                  spellings_.note() + thousands.note(head_, "value");
    return matrix;
  }

 private:
  /// Whether the first fields of the rows are numbers that can be no names: equal ones, or fractions.
  bool begins_with_values() const {
    const auto number = [this](const std::string& field) { return head_.number_in(field).has_value(); };
    if (!std::ranges::all_of(names_, number)) return false;
    std::vector<std::string> sorted = names_;
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) != sorted.end() ||
           !std::ranges::all_of(names_,
                                [](const std::string& field) { return integer_id(field).has_value(); });
  }

  bool finds_header() const {
    // "inf", "nan" and gaps are wrong values, no names.
    // What may be numbers with a decimal comma is refused below as wrong values, too.
    const auto is_name = [this](const std::string& field) {
      return !is_number(field, head_.decimal.value_or(Decimal::point)) && !is_missing(field) &&
             (head_.decimal || !is_number(field, Decimal::comma));
    };
    const std::vector<std::string>&first = head_.first, &second = head_.second;
    if (first.size() + 1 == second.size() || first[0].empty()) return true;
    return std::any_of(first.begin() + 1, first.end(), is_name) ||
           (is_name(first[0]) && (first.size() == 1 || (!second.empty() && !is_name(second[0]))));
  }

  MatrixRows parse(const TextBlock& block) const {
    MatrixRows part;
    RecordCursor cursor(block, head_.format);
    while (cursor.next()) {
      const int64_t line = cursor.number();
      const auto row = static_cast<int32_t>(part.lines.size());
      const auto count = with_fields(
          source_, line, cursor.record(), head_.format.separator, cursor.quotes(), [&](auto field) {
            int64_t column = 0;
            for (; field.next(); ++column) {
              if (column == 0) part.first.emplace_back(field.field());
              const std::optional<float> value = head_.number_in(field.field());
              if (!value && column > 0) fail_number(field.field(), line, column);
              if (value) (column == 0 ? part.first_rounding : part.rounding).add(field.field(), *value);
              if (value && column > 0 && *value != 0.0f) part.thousands.add(field.field());
              if (value && *value != 0.0f)
                part.entries.push_back({row, static_cast<int32_t>(column), *value});
            }
            return column;
          });
      if (count != columns_)
        source_.fail(line, "{} fields, expected {} as in the {} line", count, columns_,
                     head_.has_header() ? "second" : "first");
      part.lines.push_back(line);
    }
    return part;
  }

  [[noreturn]] void fail_number(std::string_view field, int64_t line, int64_t column) const {
    source_.fail(line, "\"{}\" in column {}, expected a finite number within float32 (0: no edge){}",
                 excerpt(field), column + 1, head_.decimal_hint(field));
  }

  /// Names of nodes, and columns by the names of rows.
  void set_names(EdgeMatrix& matrix, const std::vector<int64_t>& lines) {
    const int64_t nodes = std::ssize(names_);
    const std::string place = head_.place(source_.path());
    if (!named_rows_) {
      for (size_t k = 0; k < names_.size(); ++k)
        if (!head_.number_in(names_[k])) fail_number(names_[k], lines[k], 0);
      if (!head_.has_header()) {
        matrix.ids.reserve_numbers(nodes);
        return;
      }
      expect_names(std::ssize(head_.first), nodes);
      matrix.set_names(head_.first, place);
      return;
    }
    std::erase_if(matrix.entries, [](const auto& entry) { return entry.col == 0; });
    for (EdgeMatrix::Entry& entry : matrix.entries) --entry.col;
    matrix.set_names(names_, place);
    if (!head_.has_header()) return;
    std::vector<std::string> header = head_.first;
    if (std::ssize(header) == nodes + 1) header.erase(header.begin());
    expect_names(std::ssize(header), nodes);
    std::vector<int32_t> place_of;  // of a column among the rows
    for (const std::string& name : header) {
      place_of.push_back(matrix.ids.find(std::string_view(name), spellings_));
      if (place_of.back() < 0)
        data_fail("{}: column \"{}\" is the name of no row, expected the same names in both", place,
                  excerpt(name));
    }
    std::vector<int32_t> distinct = place_of;
    std::sort(distinct.begin(), distinct.end());
    if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end())
      data_fail("{}: two columns of one name, expected different ones", place);
    for (EdgeMatrix::Entry& entry : matrix.entries) entry.col = place_of[static_cast<size_t>(entry.col)];
  }
  void expect_names(int64_t names, int64_t nodes) const {
    if (names != nodes)
      source_.fail(head_.format.first_line, "{} names for {} columns, expected one each", names, nodes);
  }

  TextSource& source_;
  TableHead head_;
  bool named_rows_ = false;
  int64_t columns_ = 0;
  std::vector<std::string> names_;  // first fields of all rows
  IdSpellings spellings_;           // of these in the header
};

/// Boisvert, Pozo & Remington 1996: all values column by column, or those of the lower triangle.
EdgeMatrix read_market_array(TextSource& source) {
  std::string_view line;
  source.next(line);
  std::vector<std::string> words;
  const std::string banner = lower(line);
  for (FieldCursor cursor(banner, Separator::blanks); cursor.next();) words.emplace_back(cursor.field());
  words.resize(5);
  const bool symmetric = words[4] == "symmetric";
  if ((words[3] != "real" && words[3] != "integer") || (!symmetric && words[4] != "general"))
    source.fail(1, "an array that is {} and {}, expected real or integer, and general or symmetric",
                excerpt(words[3]), excerpt(words[4]));
  std::vector<int64_t> size;
  EdgeMatrix matrix;
  int64_t row = 0, col = 0, nodes = 0;
  while (source.next(line)) {
    if (line.starts_with('%') || trimmed(line).empty()) continue;
    for (FieldCursor field(line, Separator::blanks); field.next();) {
      if (size.size() < 2) {
        const std::optional<int64_t> extent = integer_in(field.field());
        if (!extent || *extent < 1 || *extent > NodeIds::kMost)
          source.fail(source.line_number(), "\"{}\", expected a number of rows or columns",
                      excerpt(field.field()));
        size.push_back(nodes = *extent);
        if (size.size() == 2 && size[0] != size[1])
          source.fail(source.line_number(), "{} rows and {} columns, expected a square matrix", size[0],
                      size[1]);
        continue;
      }
      const std::optional<float> value = float_in(field.field());
      if (!value || col == nodes)
        source.fail(source.line_number(), "\"{}\", expected {}", excerpt(field.field()),
                    value ? "no more values than the size line says" : "a finite number within float32");
      matrix.rounding.add(field.field(), *value);
      if (*value != 0.0f) matrix.add(row, col, *value);
      if (*value != 0.0f && symmetric && row != col) matrix.add(col, row, *value);
      if (++row == nodes) row = symmetric ? ++col : (++col, 0);
    }
  }
  if (size.size() < 2 || col < nodes)
    source.fail(source.line_number(), "the end, expected {} columns of values as the size line says", nodes);
  matrix.ids.reserve_numbers(nodes);
  matrix.note = "Matrix Market: row i is node i - 1, also in files of nodes";
  return matrix;
}

}  // namespace

EdgeMatrix read_matrix_text(TextSource& source, const EdgeListOptions& options) {
  TextSource beginning(source.path(), source.input());
  std::string_view line;
  if (beginning.next(line) && is_matrix_market(line)) return read_market_array(source);
  return MatrixTable(source, options).read();
}

}  // namespace adj::detail
