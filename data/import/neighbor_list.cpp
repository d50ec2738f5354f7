#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/edge_matrix.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/detail/listed_ids.h>
#include <adjoint/data/import/records.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace adj::detail {

namespace {

/// Where the colon after a line's node is; npos: there is none. One within a word, as of an address, is none.
size_t colon_in(std::string_view line) {
  line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
  size_t begin = 0;
  if (line.starts_with('"')) begin = std::min(line.find('"', 1), line.size());
  for (size_t colon = line.find(':', begin); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    const std::string_view rest = line.substr(colon + 1);
    if (rest.empty() || rest[0] == ' ' || rest[0] == '\t') return colon;
    if (integer_in(line.substr(0, colon)) && rest.find(':') == std::string_view::npos) return colon;
  }
  return std::string_view::npos;
}

class NeighborReader {
 public:
  NeighborReader(TextSource& source, const EdgeListOptions& options) : source_(source), options_(options) {}

  EdgeMatrix read() {
    EdgeMatrix matrix;
    matrix.lists = true;
    int64_t lines = 0, blank = 0, comments = 0;
    for (std::string_view line; source_.next(line);) {
      if (source_.line_number() == 1 && (stated_ = stated_separator(line))) continue;
      if (is_comment(line, lines == 0)) {
        ++comments;
        continue;
      }
      if (trimmed(line).empty()) {
        blank += lines > 0;
        continue;
      }
      if (lines++ == 0) begin(line, matrix);
      read_line(line, matrix);
    }
    expect_lists(matrix);
    if (lines == 0) source_.fail(0, "no lines, expected some");
    if (!colon_) expect_no_metis(source_, first_, lines + blank - 1, fields_ - std::ssize(first_));
    matrix.note =
        fmt::format("a node and its neighbours in each line{}, separated by {}{}; ids are {}",
                    colon_ ? ", a colon behind the node" : "", name_of(separator_),
                    source_.found() + (stated_ ? "; line 1, which states the separator, passed over" : ""),
                    matrix.ids.str());
    if (comments > 0)
      matrix.note += fmt::format("; {} line{} of comments", comments, comments == 1 ? "" : "s");
    return matrix;
  }

 private:
  bool is_comment(std::string_view line, bool first) const {
    const std::optional<std::string>& prefix = options_.text.comment;
    if (prefix) return !prefix->empty() && line.starts_with(*prefix);
    return first && (line.starts_with('#') || line.starts_with('%'));
  }

  static bool is_heading(const std::string& field) {
    const std::string word = lower(field);
    return is_column_name(field) || word.find("neighbo") != std::string::npos ||
           word.find("adjacen") != std::string::npos || word.find("degree") != std::string::npos;
  }
  /// True for "b:0.5", an id and a weight.
  static bool is_weighted(std::string_view field) {
    const size_t colon = field.rfind(':');
    return colon != std::string_view::npos && colon > 0 && is_number(field.substr(colon + 1));
  }
  /// True for "1 2".
  static bool is_integers(std::string_view field) {
    if (field.find(' ') == std::string_view::npos) return false;
    for (FieldCursor one(field, Separator::blanks); one.next();)
      if (!integer_in(one.field())) return false;
    return true;
  }
  /// Whether a bracket opens in one field and closes in another, or one pair is around all neighbours.
  static bool has_brackets(std::span<const std::string> row) {
    for (const std::string_view pair : {"[]", "()", "{}"}) {
      std::ptrdiff_t opened = 0;
      for (const std::string& field : row) {
        const std::ptrdiff_t opens = std::ranges::count(field, pair[0]);
        if (opens != std::ranges::count(field, pair[1])) return true;
        opened += opens;
      }
      if (opened == 1 && row[1].starts_with(pair[0]) && row.back().ends_with(pair[1])) return true;
    }
    return false;
  }

  template <class... Args>
  [[noreturn]] void fail_row(int64_t line, std::string_view found, fmt::format_string<Args...> format,
                             Args&&... args) const {
    source_.fail(line, "\"{}\", {}, or --ids names, which takes all as ids", excerpt(found),
                 fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_heading() const {
    fail_row(first_number_, first_text_,
             "which may be a header, expected a node and its neighbours (sed 1d removes it)");
  }

  [[noreturn]] void fail_list(int64_t line, std::string_view list) const {
    fail_row(line, list, "which may be a list of ids, expected one separator between all ids");
  }

  /// Finds out which marks are in the node of every line, or behind it, and in no neighbour.
  void find_mark(std::span<const std::string> row, bool quoted) {
    for (size_t k = 0; k < std::size(kMarks); ++k) {
      const auto has_mark = [&](const std::string& field) { return field.find(kMarks[k]) != field.npos; };
      const bool alone = row.size() > 1 && row[1] == kMarks[k];
      marks_[k] = marks_[k] && !colon_ && !quoted && has_mark(row[0]) != alone &&
                  std::ranges::none_of(row.subspan(alone ? 2 : 1), has_mark);
    }
  }

  /// Refuses a line with more than ids. `row`: the node and its neighbours.
  void expect_ids(std::string_view text, std::span<const std::string> row) {
    const bool quoted = text.find('"') != std::string_view::npos;
    find_mark(row, quoted);
    if (options_.ids == NodeIds::Kind::names || row.size() < 2) return;
    const int64_t line = source_.line_number();
    if (row.back().ends_with('}') && row[1].starts_with('{') && !colon_ && !quoted)
      fail_row(line, text,
               "as networkx.write_multiline_adjlist writes, expected a node and its neighbours "
               "(networkx.write_adjlist writes them)");
    const auto integer = [](const std::string& field) { return integer_in(field).has_value(); };
    if (first_number_ > 0) {
      integers_below_ = integers_below_.value_or(true) && std::ranges::all_of(row, integer);
      colons_below_ = colons_below_.value_or(true) && row[0].ends_with(':');
    } else {
      first_number_ = line;
      first_text_ = text;
      words_first_ = std::ranges::none_of(row, [](const auto& field) { return is_number(field); });
      const auto neighbors = row.subspan(1);
      if (std::ranges::all_of(colon_ ? neighbors : row, is_heading)) fail_heading();
      if (!quoted && has_brackets(row))
        fail_row(line, text, "which has brackets, expected ids alone (tr -d '()[]{{}}' removes them)");
      if (!colon_ && is_integers(row[0])) fail_list(line, row[0]);
      if (!is_weighted(row[0]) && std::ranges::all_of(neighbors, is_weighted))
        fail_row(line, text, "which may have weights, expected ids alone (a list of edges may have them)");
    }
    if (row.size() > 2)
      longer_ = true;
    else if (list_line_ == 0 && (row[1].find_first_of(",;|") != std::string::npos || is_integers(row[1]))) {
      list_line_ = line;
      list_ = row[1];
    }
  }
  /// Refuses what only all lines say: a header above integers or colons, or whose words are in no other line,
  /// and a list of ids in each field.
  void expect_lists(const EdgeMatrix& matrix) const {
    if (words_first_ &&
        (integers_below_.value_or(false) || colons_below_.value_or(false) || first_is_alone(matrix)))
      fail_heading();
    if (list_line_ > 0 && !longer_) fail_list(list_line_, list_);
    if (options_.ids == NodeIds::Kind::names) return;
    for (size_t k = 0; k < std::size(kMarks) && first_number_ > 0; ++k)
      if (marks_[k])
        fail_row(first_number_, first_text_,
                 "in which \"{0}\" may end the node, as in every line, expected a colon and a blank there "
                 "(sed 's/ *{0} */: /' writes them)",
                 kMarks[k]);
    if (longer_) return;
    std::vector<bool> is_source(static_cast<size_t>(matrix.ids.size()));
    for (const auto& entry : matrix.entries) is_source[static_cast<size_t>(entry.row)] = true;
    if (const std::string list = listed_ids(matrix.ids, is_source, matrix.ids, false); !list.empty())
      fail_list(0, list);
  }
  /// Whether the first line with neighbours is the only one whose ids are in no other line.
  bool first_is_alone(const EdgeMatrix& matrix) const {
    const auto occurs_once = [&](int32_t node) { return mentions_[static_cast<size_t>(node)] == 1; };
    int64_t alone = 0, lines = 0;
    bool first_alone = false;
    const std::vector<EdgeMatrix::Entry>& entries = matrix.entries;
    for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
      bool once = occurs_once(entries[begin].row);
      for (end = begin; end < entries.size() && entries[end].row == entries[begin].row; ++end)
        once = once && occurs_once(entries[end].col);
      alone += once;
      first_alone = first_alone || (begin == 0 && once);
      ++lines;
    }
    return first_alone && alone == 1 && lines > 1;
  }

  /// The first line says what is between nodes, and whether they are integers.
  void begin(std::string_view line, EdgeMatrix& matrix) {
    const size_t colon = colon_in(line);
    colon_ = colon != std::string_view::npos;
    const std::string_view neighbors = colon_ ? line.substr(colon + 1) : line;
    separator_ = options_.text.separator.value_or(stated_.value_or(separator_of(neighbors)));
    bool integers = !colon_ || integer_in(line.substr(0, colon)).has_value();
    if (!colon_ || !trimmed(neighbors).empty())
      for (RecordFields field(source_, source_.line_number(), neighbors, separator_); field.next();)
        integers = integers && (field.field().empty() || integer_in(field.field()));
    matrix.ids = NodeIds(options_.ids.value_or(integers ? NodeIds::Kind::integers : NodeIds::Kind::names),
                         options_.text.decimal.value_or(Decimal::point));
  }

  void read_line(std::string_view line, EdgeMatrix& matrix) {
    const std::string_view text = trimmed(line);
    std::vector<std::string> row;
    if (colon_) {
      const size_t colon = colon_in(line);
      if (colon == std::string_view::npos)
        source_.fail(source_.line_number(), "no colon behind the node, expected one as in the first line");
      RecordFields field(source_, source_.line_number(), trimmed(line.substr(0, colon)), Separator("\n"));
      (void)field.next();
      row.emplace_back(field.field());
      line = line.substr(colon + 1);
    }
    if (!row.empty() && trimmed(line).empty()) line = {};
    for (RecordFields field(source_, source_.line_number(), line, separator_); field.next();)
      if (row.empty() || !field.field().empty()) row.emplace_back(field.field());  // none behind the last
    expect_ids(text, row);
    if (fields_ == 0 && !colon_) first_ = row;
    fields_ += std::ssize(row);
    const int32_t node = add(row[0], matrix);
    for (size_t k = 1; k < row.size(); ++k) matrix.add(node, add(row[k], matrix), 1.0f);
  }

  int32_t add(std::string_view field, EdgeMatrix& matrix) {
    const int64_t line = source_.line_number();
    if (field.empty() || (options_.missing_ids != MissingIds::keep && is_missing(field)))
      source_.fail(line, "\"{}\", expected the id of a node", excerpt(field));
    source_.expect_utf8(line, field);
    if (!matrix.ids.add_text(field))
      source_.fail(line, "\"{}\", expected a 64-bit integer{}", excerpt(field),
                   options_.ids ? "" : ", as the first ids are (--ids names takes any text)");
    if (matrix.size() >= ImportedEdges::kMost)
      source_.fail(line, "expected at most {} edges, found more", ImportedEdges::kMost);
    const int32_t node = matrix.ids.find(field);
    mentions_.resize(static_cast<size_t>(matrix.ids.size()));
    uint8_t& mentions = mentions_[static_cast<size_t>(node)];
    mentions = std::min<uint8_t>(2, mentions + 1);
    return node;
  }

  TextSource& source_;
  const EdgeListOptions& options_;
  Separator separator_ = Separator::blanks;
  std::optional<Separator> stated_;
  bool colon_ = false;
  int64_t fields_ = 0;
  std::vector<uint8_t> mentions_;   // of each node; 2: more than one
  std::vector<std::string> first_;  // line
  // Of the first line with neighbours, those below, and the first field that may be a list.
  std::string first_text_, list_;
  int64_t first_number_ = 0, list_line_ = 0;
  bool words_first_ = false, longer_ = false;
  std::optional<bool> integers_below_, colons_below_;
  static constexpr std::string_view kMarks[] = {":", "->", "=", "|"};
  std::array<bool, std::size(kMarks)> marks_{true, true, true, true};
};

}  // namespace

EdgeMatrix read_neighbors(TextSource& source, const EdgeListOptions& options) {
  return NeighborReader(source, options).read();
}

}  // namespace adj::detail
