#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/list_reader.h>

namespace adj {

void LoneEdges::add(int32_t src, int32_t dst) {
  const auto known = static_cast<int32_t>(ends_.size());
  ends_.resize(static_cast<size_t>(std::max({known, src + 1, dst + 1})), End::none);
  if (src == known && dst == known + 1) {
    ends_[static_cast<size_t>(src)] = End::source;
    ends_[static_cast<size_t>(dst)] = End::target;
    ++count_;
    return;
  }
  touch(src);
  touch(dst);
}

void LoneEdges::touch(int32_t node) {
  const auto k = static_cast<size_t>(node);
  if (ends_[k] == End::none) return;
  ends_[ends_[k] == End::source ? k + 1 : k - 1] = End::none;
  ends_[k] = End::none;
  --count_;
}

ListReader::ListReader(TextSource& source, const TableHead& head, int64_t header_line, bool doubtful,
                       const EdgeListOptions& options, NodeIds& ids)
    : source_(source),
      head_(head),
      options_(options),
      ids_(ids),
      edges_(options.weight_column > 0, options.drop_self_loops),
      header_line_(header_line),
      doubtful_(doubtful && named()) {
  source_.cut_by([this](std::string_view text, int64_t line) { return head_.format.last_end(text, line); });
}

ImportedEdges ListReader::read() {
  source_.for_blocks([this](const TextBlock& block) { return parse(block); },
                     [this](const Ends& ends) { take(ends); });
  if (doubtful_) settle_header();
  return std::move(edges_);
}

ListReader::Ends ListReader::parse(const TextBlock& block) const {
  Ends ends;
  RecordCursor at(block, head_.format);
  while (at.next()) {
    const int64_t line = at.number();
    if (line == header_line_) continue;
    ends.last_line = line;
    Separator separator = head_.format.separator;
    // Ids hold no blanks where they are numbers, so that those may stand in the place of tabs.
    if (separator == Separator::tab && !named() && at.record().find('\t') == std::string_view::npos)
      separator = Separator::blanks;
    int64_t column = 0;
    for (RecordFields field(source_, line, at.record(), separator); field.next();) {
      ++column;
      if (column <= 2)
        add_id(field, line, column, ends);
      else if (column == options_.weight_column)
        ends.weights.push_back(weight_in(field.field(), line));
    }
    if (column != head_.columns())
      source_.fail(line, "{} fields, expected {} as in the first line", column, head_.columns());
  }
  ends.comments = at.comments();
  return ends;
}

float ListReader::weight_in(std::string_view field, int64_t line) const {
  const std::optional<float> weight = float_in(field);
  if (!weight && !(doubtful_ && line == head_.format.first_line))
    source_.fail(line, "\"{}\" in column {}, expected a weight, finite and within float32", excerpt(field),
                 options_.weight_column);
  return weight.value_or(1.0f);
}

void ListReader::add_id(const RecordFields& at, int64_t line, int64_t column, Ends& ends) const {
  std::string_view field = at.field();
  if (named()) {
    if (field.empty()) source_.fail(line, "nothing in column {}, expected the id of a node", column);
    if (at.copied()) field = *ends.copies.emplace_back(std::make_unique<std::string>(field));
    ends.names.push_back(field);
    return;
  }
  const auto id = integer_in(field);
  const bool numbers = ids_.kind() == NodeIds::Kind::numbers;
  if (!id && !numbers)
    source_.fail(line, "\"{}\" in column {}, expected an integer of 64 bits{}", excerpt(field), column,
                 options_.ids ? "" : ", as the first ids are (--ids names takes any text)");
  if (numbers && (!id || *id < 0 || *id >= NodeIds::kMost))
    source_.fail(line, "\"{}\" in column {}, expected an integer from 0 to {}", excerpt(field), column,
                 NodeIds::kMost - 1);
  ends.ids.push_back(*id);
}

void ListReader::take(const Ends& ends) {
  const size_t edges = (ends.ids.size() + ends.names.size()) / 2;
  comments_ += ends.comments;
  if (edges_.size() + static_cast<int64_t>(edges) > ImportedEdges::kMost)
    source_.fail(ends.last_line, "more than {} edges, expected at most that", ImportedEdges::kMost);
  for (size_t k = 0; k < edges; ++k) {
    const int32_t src = named() ? ids_.add(ends.names[2 * k]) : ids_.add(ends.ids[2 * k]);
    const int32_t dst = named() ? ids_.add(ends.names[2 * k + 1]) : ids_.add(ends.ids[2 * k + 1]);
    if (src < 0 || dst < 0)
      source_.fail(ends.last_line, "more than {} nodes by then, expected at most that", NodeIds::kMost);
    if (doubtful_) lone_.add(src, dst);
    edges_.append(src, dst, ends.weights.empty() ? 1.0f : ends.weights[k]);
  }
}

void ListReader::settle_header() {
  const int64_t line = head_.format.first_line;
  const bool called_so = is_column_name(head_.first[0]) && is_column_name(head_.first[1]);
  if (lone_.has_first() && (lone_.count() == 1 || called_so || head_.numbers_under_words())) {
    header_line_ = line;
    ids_.forget_first(2);
    edges_.forget_first();
    return;
  }
  first_is_alone_ = lone_.has_first();
  doubtful_ = false;  // so it must have a weight
  if (options_.weight_column > 0)
    (void)weight_in(head_.first[static_cast<size_t>(options_.weight_column - 1)], line);
}

}  // namespace adj
