#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/list_reader.h>

namespace adj {

namespace {

class ListReader {
 public:
  ListReader(TextSource& source, const ListLayout& layout, const EdgeListOptions& options, NodeIds& ids)
      : source_(source),
        head_(layout.head),
        options_(options),
        ids_(ids),
        edges_(options.weight_column > 0, options.drop_self_loops),
        header_line_(layout.header_line),
        doubtful_(layout.doubtful && named()) {
    source_.cut_by([this](std::string_view text, int64_t line) { return head_.format.last_end(text, line); });
  }

  ImportedEdges read() {
    source_.for_blocks([this](const TextBlock& block) { return parse(block); },
                       [this](const Ends& ends) { take(ends); });
    if (doubtful_) settle_header();
    return std::move(edges_);
  }

  /// The note on the list's detected format.
  std::string note() const {
    std::string note = fmt::format("{}: {}; ids are {}", excerpt(source_.path()),
                                   head_.str(header_line_, comments_), ids_.str());
    const std::string& id = header_line_ > 0 ? head_.second[0] : head_.first[0];
    if (ids_.kind() == NodeIds::Kind::names && !options_.ids && is_number(id))
      note += fmt::format(" (\"{}\" is not a 64-bit integer)", excerpt(id));
    if (first_is_alone_)
      note += fmt::format(
          "; line {} taken as an edge: {}, with ids that occur in no other line (--header yes if "
          "it is one)",
          head_.format.first_line, excerpt(head_.row));
    const int64_t unused = head_.columns() - 2 - (options_.weight_column > 0 ? 1 : 0);
    if (unused > 0) note += fmt::format("; {} column{} ignored", unused, unused == 1 ? "" : "s");
    return note;
  }

 private:
  /// The edges of one block of lines. Names point into the block or to copies.
  struct Ends {
    std::vector<int64_t> ids;
    std::vector<std::string_view> names;
    std::vector<float> weights;
    std::vector<std::unique_ptr<std::string>> copies;
    int64_t last_line = 0, comments = 0;
  };

  bool named() const { return ids_.kind() == NodeIds::Kind::names; }

  template <class Fields>
  void add_id(const Fields& fields, int64_t line, int64_t column, Ends& ends) const {
    std::string_view field = fields.field();
    if (named()) {
      if (field.empty()) source_.fail(line, "nothing in column {}, expected the id of a node", column);
      source_.expect_utf8(line, field);
      if constexpr (std::is_same_v<Fields, RecordFields>)
        if (fields.copied()) field = *ends.copies.emplace_back(std::make_unique<std::string>(field));
      ends.names.push_back(field);
      return;
    }
    const auto id = integer_in(field);
    const bool numbers = ids_.kind() == NodeIds::Kind::numbers;
    if (!id && !numbers)
      source_.fail(line, "\"{}\" in column {}, expected a 64-bit integer{}", excerpt(field), column,
                   options_.ids ? "" : ", as the first ids are (--ids names takes any text)");
    if (numbers && (!id || *id < 0 || *id >= NodeIds::kMost))
      source_.fail(line, "\"{}\" in column {}, expected an integer from 0 to {}", excerpt(field), column,
                   NodeIds::kMost - 1);
    ends.ids.push_back(*id);
  }

  Ends parse(const TextBlock& block) const {
    Ends ends;
    // Numbers contain no blanks, so blanks may replace tabs.
    const bool numbers = head_.format.separator == Separator::tab && !named();
    const bool text_beside = numbers && head_.columns() > (options_.weight_column > 0 ? 3 : 2);
    const Separator separator = numbers ? Separator::blanks : head_.format.separator;
    RecordCursor cursor(block, head_.format);
    while (cursor.next()) {
      const int64_t line = cursor.number();
      if (line == header_line_) continue;
      ends.last_line = line;
      // In ignored text, blanks are part of the field.
      const bool tab = text_beside && cursor.record().find('\t') != std::string_view::npos;
      const auto column = with_fields(source_, line, cursor.record(), tab ? Separator::tab : separator,
                                      cursor.quotes(), [&](auto field) {
                                        int64_t count = 0;
                                        while (field.next()) {
                                          ++count;
                                          if (count <= 2)
                                            add_id(field, line, count, ends);
                                          else if (count == options_.weight_column)
                                            ends.weights.push_back(weight_in(field.field(), line));
                                        }
                                        return count;
                                      });
      if (column != head_.columns())
        source_.fail(line, "{} fields, expected {} as in the first line", column, head_.columns());
    }
    ends.comments = cursor.comments();
    return ends;
  }

  float weight_in(std::string_view field, int64_t line) const {
    const std::optional<float> weight = float_in(field);
    if (!weight && !(doubtful_ && line == head_.format.first_line))
      source_.fail(line, "\"{}\" in column {}, expected a weight, finite and within float32", excerpt(field),
                   options_.weight_column);
    return weight.value_or(1.0f);
  }

  void take(const Ends& ends) {
    const size_t edges = (ends.ids.size() + ends.names.size()) / 2;
    comments_ += ends.comments;
    if (edges_.size() + static_cast<int64_t>(edges) > ImportedEdges::kMost)
      source_.fail(ends.last_line, "expected at most {} edges, found more", ImportedEdges::kMost);
    for (size_t k = 0; k < edges; ++k) {
      const int32_t src = named() ? ids_.add(ends.names[2 * k]) : ids_.add(ends.ids[2 * k]);
      const int32_t dst = named() ? ids_.add(ends.names[2 * k + 1]) : ids_.add(ends.ids[2 * k + 1]);
      if (src < 0 || dst < 0)
        source_.fail(ends.last_line, "expected at most {} nodes, found more", NodeIds::kMost);
      // The first line is not a header if another edge has one of its nodes, or if it is a loop.
      if (doubtful_ && (src < 2 || dst < 2) && !(edges_.size() == 0 && src == 0 && dst == 1)) keep_first();
      edges_.append(src, dst, ends.weights.empty() ? 1.0f : ends.weights[k]);
    }
  }

  /// The first line is an edge; then it must have a weight.
  void keep_first() {
    doubtful_ = false;
    if (options_.weight_column > 0)
      (void)weight_in(head_.first[static_cast<size_t>(options_.weight_column - 1)], head_.format.first_line);
  }

  void settle_header() {
    const bool called_so = is_column_name(head_.first[0]) && is_column_name(head_.first[1]);
    if (called_so || head_.numbers_under_words() ||
        (!head_.second.empty() && edges_.count_lone(ids_.size()) == 1)) {
      header_line_ = head_.format.first_line;
      ids_.forget_first(2);
      edges_.forget_first();
      return;
    }
    first_is_alone_ = true;
    keep_first();
  }

  TextSource& source_;
  const TableHead& head_;
  const EdgeListOptions& options_;
  NodeIds& ids_;
  ImportedEdges edges_;
  int64_t header_line_, comments_ = 0;  // header_line_ 0: none
  bool doubtful_;
  bool first_is_alone_ = false;  // the first line is an edge whose ids occur in no other line
};

}  // namespace

ImportedEdges read_list(TextSource& source, const ListLayout& layout, const EdgeListOptions& options,
                        NodeIds& ids, std::vector<std::string>& notes) {
  const int64_t columns = layout.head.columns(), weights = options.weight_column;
  if (weights > columns || weights == 1 || weights == 2)
    source.fail(0, "{} columns, expected weights in column {} after two ids", columns, weights);
  ListReader reader(source, layout, options, ids);
  ImportedEdges edges = reader.read();
  notes.push_back(reader.note());
  return edges;
}

}  // namespace adj
