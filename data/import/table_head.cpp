#include <adjoint/core/text.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/table_head.h>
#include <adjoint/data/import/thousands.h>

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

namespace adj {

namespace {

constexpr size_t kDoubtful = 1000;  // maximum number of comments kept for a second check

/// Detects the separator of the first record, which may span lines while a quote is open.
class FirstRecord {
 public:
  explicit FirstRecord(const TextFormat& text)
      : chosen_(text.separator), decimal_(text.decimal.value_or(Decimal::point)) {}

  void add(std::string_view line) {
    if (!text_.empty()) text_ += '\n';
    text_ += line;
    bool begins = !open_;  // true if a field may begin here
    for (size_t k = 0; k < line.size(); ++k) {
      const char c = line[k];
      if (open_) {
        if (c != '"') continue;
        if (k + 1 < line.size() && line[k + 1] == '"')
          ++k;
        else
          open_ = false;
      } else if (c == '"' && begins) {
        open_ = true;
        begins = false;
      } else if (chosen_) {
        begins = c == ' ' || c == '\t' || line.substr(0, k + 1).ends_with(chosen_->text());
      } else if (c == '\t' || c == ';' || (c == ',' && decimal_ == Decimal::point)) {
        found_ += c;
        begins = true;
      } else {
        begins = c == ' ';
      }
    }
  }
  bool open() const { return open_; }
  const std::string& text() const { return text_; }
  Separator separator() const { return chosen_.value_or(separator_of(found_)); }

 private:
  std::optional<Separator> chosen_;
  Decimal decimal_;
  std::string text_, found_;
  bool open_ = false;
};

template <class Cursor>
std::vector<std::string> fields_of(Cursor cursor) {
  std::vector<std::string> fields;
  while (cursor.next()) fields.emplace_back(cursor.field());
  return fields;
}

/// Whether fields may be names of columns: none occurs twice, and none but the first is empty.
bool all_differ(const std::vector<std::string>& fields) {
  const std::set<std::string_view> all(fields.begin(), fields.end());
  return all.size() == fields.size() && std::find(fields.begin() + 1, fields.end(), "") == fields.end();
}

/// Those of a comment that may name the columns; or none.
std::vector<std::string> commented_names(std::string_view comment, const TableHead& head) {
  const size_t begin = comment.find_first_not_of("#% \t");
  if (begin == std::string_view::npos || begin == 0) return {};
  std::vector<std::string> names = fields_of(FieldCursor(comment.substr(begin), head.format.separator));
  const bool words =
      std::ranges::none_of(names, [](const auto& name) { return name.empty() || is_number(name); });
  const bool fits = names.size() > 1 && names.size() == head.first.size();
  return words && fits ? names : std::vector<std::string>();
}

}  // namespace

bool is_column_name(std::string_view field) {
  std::string name;
  for (char c : lower(field))
    if (c >= 'a' && c <= 'z') name += c;
  if (name.size() > 2 && name.ends_with("id")) name.resize(name.size() - 2);
  constexpr std::string_view known[] = {"id",     "index",  "node",   "vertex", "name",  "src",
                                        "dst",    "source", "target", "from",   "to",    "head",
                                        "tail",   "start",  "end",    "label",  "class", "split",
                                        "weight", "train",  "valid",  "val",    "test",  "nodes"};
  return std::find(std::begin(known), std::end(known), name) != std::end(known);
}

void TableHead::take_header() {
  format.header_line = format.first_line;
  if (!is_table && columns() > 1 && may_be_header()) format.header = trimmed(row);
}

bool TableHead::take_comment(const std::string& path, Header header,
                             const std::function<bool(const std::vector<std::string>&)>& says_columns) {
  if (header == Header::yes || header == Header::no) commented.clear();
  if (header == Header::comment && commented.empty())
    data_fail("{}: no comment above with {} names, expected one, as the header is a comment", place(path),
              columns());
  if (commented.empty()) return false;
  const bool certain = format.separator != Separator::blanks && columns() > 2;
  const bool found =
      may_be_header() ? says_columns(commented) && !says_columns(first) : certain || says_columns(commented);
  if (header != Header::comment && !found) return false;
  second = std::exchange(first, commented);
  format.header_line = comment_line;
  return true;
}

std::string TableHead::str(const SkippedLines& behind) const {
  if (is_table) return fmt::format("columns {}", excerpt(fmt::format("{}", fmt::join(first, ","))));
  std::string text =
      first.size() > 1 ? fmt::format("separated by {}", name_of(format.separator)) : "one column";
  const std::string names = excerpt(fmt::format("{}", fmt::join(commented, ", ")));
  if (header() == Header::comment)
    text += "; columns named by the comment above: " + names;
  else if (has_header())
    text += fmt::format("; line {} taken as header: {}", format.header_line, excerpt(row));
  else if (!commented.empty())
    text += fmt::format("; the comment above is not taken as the names of columns: {}", names);
  text += found;
  const int64_t all = comments + behind.comments;
  if (all > 0) text += fmt::format("; {} line{} of comments", all, all == 1 ? "" : "s");
  if (behind.headers > 0)
    text += fmt::format("; {} line{} passed over", behind.headers,
                        behind.headers == 1 ? " that repeats the header" : "s that repeat the header");
  return text;
}

std::string TableHead::beside_comments() const {
  if (comments == 0) return "";
  return fmt::format(" in addition to {} line{} of comments (--comment defines them)", comments,
                     comments == 1 ? "" : "s");
}

std::string TableHead::wrong_count(int64_t count) const {
  const bool names = count == columns() + 1 && std::ssize(second) == count && may_be_header();
  return fmt::format("{} fields, expected {} as in the first line{}", count, columns(),
                     names
                         ? " (names of rows, as R and pandas write them, have no name there: write.table(…, "
                           "row.names = FALSE), to_csv(index=False))"
                         : "");
}

bool TableHead::has_numbers() const {
  return std::any_of(first.begin(), first.end(), [this](const std::string& field) {
    return is_number(field, decimal.value_or(Decimal::point));
  });
}

bool TableHead::may_be_header() const { return !has_numbers() || names_beside_numbers(); }

bool TableHead::names_beside_numbers() const {
  if (!has_numbers() || second.size() != first.size() || !all_differ(first)) return false;
  if (first[0].empty()) return !second[0].empty();
  const auto names_columns = [](const std::vector<std::string>& row) {
    return names_ids(row[0]) || std::ranges::any_of(row, names_label) ||
           edge_columns(row, {}, "").rule == EdgeColumns::Rule::known;
  };
  return names_columns(first) && !names_columns(second);
}

bool TableHead::is_word_beside_numbers(int64_t column) const {
  const std::string& word = first[static_cast<size_t>(column)];
  return has_numbers() && !is_number(word, decimal.value_or(Decimal::point)) && !is_missing(word) &&
         all_differ(first);
}

bool TableHead::numbers_under_words() const {
  if (first.size() != second.size()) return false;
  const auto is_one = [this](const std::string& field) {
    return is_number(field, decimal.value_or(Decimal::point));
  };
  for (size_t k = 0; k < first.size(); ++k)
    if (!is_one(first[k]) && !is_missing(first[k]) && is_one(second[k]) && !is_missing(second[k]))
      return true;
  return false;
}

std::string_view TableHead::decimal_hint(std::string_view field) const {
  std::string points(field);
  std::ranges::replace(points, ',', '.');
  const bool fraction = points != field && !has_thousands(points);  // 4,316 may be 4316
  return !decimal && fraction && float_in(field, Decimal::comma)
             ? " (--decimal comma: numbers have a decimal comma)"
             : "";
}

TableHead read_head(const std::string& path, const TextFormat& chosen, bool blank_rows,
                    const std::function<bool(const TableHead&, const std::vector<std::string>&)>& is_row) {
  TableHead head;
  head.is_table = chosen.input.is_table(path);
  const TextFormat text =
      head.is_table ? TextFormat{"", Separator::comma, Decimal::point, chosen.input} : chosen;
  TextSource source(path, text.input);
  const std::optional<std::string>& comment = text.comment;
  head.format.comment = comment.value_or("");
  head.decimal = text.decimal;
  std::optional<Separator> stated;
  FirstRecord first(text);
  std::vector<std::pair<int64_t, std::string>> doubtful;
  std::string last_comment;
  for (std::string_view line; source.next(line);) {
    if (!first.open()) {
      if (source.line_number() == 1 && !head.is_table) stated = stated_separator(line);
      if (source.line_number() == 1 && stated) {
        TextFormat format = text;
        if (!format.separator) format.separator = stated;
        first = FirstRecord(format);
        continue;
      }
      const bool marked = !comment && !line.empty() && (line[0] == '#' || line[0] == '%');
      if (marked || head.format.is_comment(line)) {
        if (head.comments++ == 0) head.first_comment = line;
        last_comment = line;
        head.comment_line = source.line_number();
        if (marked && line.size() > 1 && line[1] != ' ' && line[1] != '\t' && line[1] != line[0] &&
            doubtful.size() < kDoubtful)
          doubtful.emplace_back(source.line_number(), line);
        continue;
      }
      if (trimmed(line).empty() && !blank_rows) continue;
      head.format.first_line = source.line_number();
      head.empty = false;
    }
    first.add(line);
    if (!first.open() || first.text().size() > TextSource::kLongestLine) break;
  }
  head.found = source.found();
  if (stated) head.found += "; line 1, which states the separator, passed over";
  if (head.empty) return head;
  head.row = first.text();
  const int64_t number = head.format.first_line;
  const Separator separator = head.format.separator = first.separator();
  head.first = fields_of(RecordFields(source, number, head.row, separator));
  head.commented = commented_names(last_comment, head);

  TextSource again(path, text.input);
  RecordReader rows(again, head.format);
  (void)rows.next(blank_rows);
  if (rows.next(blank_rows))
    head.second = fields_of(RecordFields(again, rows.number(), rows.record(), separator));
  for (const auto& [line, marked] : doubtful) {
    const std::vector<std::string> fields = fields_of(FieldCursor(marked, separator));
    if (fields.size() == head.first.size() && is_row(head, fields))
      source.fail(
          line, "\"{}\" may be a comment or a row: --comment '{}' means the former, --comment '' the latter",
          excerpt(marked), marked[0]);
  }
  return head;
}

}  // namespace adj
