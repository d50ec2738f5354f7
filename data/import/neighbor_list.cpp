#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/edge_matrix.h>
#include <adjoint/data/import/detail/list_reader.h>
#include <adjoint/data/import/records.h>

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
    if (lines == 0) source_.fail(0, "no lines, expected some");
    if (!colon_) expect_no_metis(source_, first_, lines + blank - 1, fields_ - std::ssize(first_));
    matrix.note = fmt::format("a node and its neighbours in each line{}, separated by {}{}; ids are {}",
                              colon_ ? ", a colon behind the node" : "", name_of(separator_), source_.found(),
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

  /// The first line says what is between nodes, and whether they are integers.
  void begin(std::string_view line, EdgeMatrix& matrix) {
    const size_t colon = colon_in(line);
    colon_ = colon != std::string_view::npos;
    const std::string_view neighbors = colon_ ? line.substr(colon + 1) : line;
    separator_ = options_.text.separator.value_or(separator_of(neighbors));
    bool integers = !colon_ || integer_in(line.substr(0, colon)).has_value();
    if (!colon_ || !trimmed(neighbors).empty())
      for (RecordFields field(source_, source_.line_number(), neighbors, separator_); field.next();)
        integers = integers && (field.field().empty() || integer_in(field.field()));
    matrix.ids = NodeIds(options_.ids.value_or(integers ? NodeIds::Kind::integers : NodeIds::Kind::names));
  }

  void read_line(std::string_view line, EdgeMatrix& matrix) {
    int32_t node = -1;
    if (colon_) {
      const size_t colon = colon_in(line);
      if (colon == std::string_view::npos)
        source_.fail(source_.line_number(), "no colon behind the node, expected one as in the first line");
      RecordFields field(source_, source_.line_number(), trimmed(line.substr(0, colon)), Separator("\n"));
      (void)field.next();
      node = add(field.field(), matrix);
      line = line.substr(colon + 1);
      if (trimmed(line).empty()) return;
    }
    const bool first = fields_ == 0;
    for (RecordFields field(source_, source_.line_number(), line, separator_); field.next();) {
      if (field.field().empty() && node >= 0) continue;  // a separator at the end
      ++fields_;
      if (first) first_.emplace_back(field.field());
      const int32_t one = add(field.field(), matrix);
      if (node >= 0)
        matrix.add(node, one, 1.0f);
      else
        node = one;
    }
  }

  int32_t add(std::string_view field, EdgeMatrix& matrix) const {
    const int64_t line = source_.line_number();
    if (field.empty() || (options_.missing_ids != MissingIds::keep && is_missing(field)))
      source_.fail(line, "\"{}\", expected the id of a node", excerpt(field));
    source_.expect_utf8(line, field);
    if (!matrix.ids.add_text(field))
      source_.fail(line, "\"{}\", expected a 64-bit integer{}", excerpt(field),
                   options_.ids ? "" : ", as the first ids are (--ids names takes any text)");
    if (matrix.size() >= ImportedEdges::kMost)
      source_.fail(line, "expected at most {} edges, found more", ImportedEdges::kMost);
    return matrix.ids.find(field);
  }

  TextSource& source_;
  const EdgeListOptions& options_;
  Separator separator_ = Separator::blanks;
  bool colon_ = false;
  int64_t fields_ = 0;
  std::vector<std::string> first_;  // line
};

}  // namespace

EdgeMatrix read_neighbors(TextSource& source, const EdgeListOptions& options) {
  return NeighborReader(source, options).read();
}

}  // namespace adj::detail
