#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/import/detail/split_column.h>
#include <adjoint/data/import/node_columns.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj::detail {

namespace {

constexpr size_t kNamesShown = 3;

/// What of a table is passed over.
class PassedOver {
 public:
  void add(std::string_view name) {
    if (names_.size() < kNamesShown) names_.push_back(excerpt(name));
    ++count_;
  }
  int64_t count() const { return count_; }
  /// Adds "FILE: WHAT: 4 (a, b and 2 more)", if there are any.
  void note(const std::string& path, std::string_view what, std::vector<std::string>& notes) const {
    if (count_ == 0) return;
    const int64_t more = count_ - std::ssize(names_);
    notes.push_back(fmt::format("{}: {}: {} ({}{})", excerpt(path), what, count_, fmt::join(names_, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }

 private:
  std::vector<std::string> names_;
  int64_t count_ = 0;
};

SplitTable readable(SplitTable table) {
  if (!table.text.input.copies)  // or the pipe was read already
    table.text.input.copies =
        std::make_shared<const InputCopies>(std::initializer_list<std::string>{table.path});
  return table;
}

}  // namespace

SplitColumn::SplitColumn(const Dataset& data, const std::string& file, const SplitTable& table,
                         IsValue is_value)
    : data_(data),
      table_(readable(table)),
      items_(data, file, is_of_graphs(data.task), table.by_row, " (--by-row: by their order)"),
      source_(table_.path, table_.text.input) {
  if (is_of_edges(data.task))
    data_fail(
        "{}: task {}, whose splits are of edges, expected a random split: rows of a table are nodes or "
        "graphs",
        excerpt(file), name_of(data.task));
  head_ = read_head(table_.path, table_.text, table.by_row, [&](const TableHead&, const auto& fields) {
    return !table.by_row && items_.find(std::string_view(fields[0])) >= 0;
  });
  if (head_.empty) source_.fail(0, "no rows, expected some{}", head_.beside_comments());
  find_columns(is_value);
}

std::vector<TableValue> SplitColumn::read(std::vector<std::string>& notes) {
  std::vector<TableValue> values;
  std::vector<uint8_t> seen(static_cast<size_t>(items_.count()));
  PassedOver strangers, empty, unlabelled;
  int64_t rows = 0;
  RecordReader reader(source_, head_.format);
  while (reader.next(table_.by_row && head_.columns() == 1)) {
    const int64_t line = reader.number();
    if (line == header_line_) continue;
    const auto [id, text] = fields(line, reader.record());
    const int32_t item = table_.by_row ? items_.find_row(rows) : items_.find(std::string_view(id));
    const std::string name = table_.by_row ? std::to_string(rows) : id;
    ++rows;
    if (item < 0 && table_.by_row)
      source_.fail(line, "row {}, from 0, of a file with {} {}, expected one row each", rows - 1,
                   items_.count(), items_.word());
    if (item < 0) {
      strangers.add(name);
      continue;
    }
    if (seen[static_cast<size_t>(item)]++ != 0)
      source_.fail(line, "'{}' occurs twice, expected one row each", excerpt(name));
    if (is_missing(text))
      empty.add(name);
    else if (data_.labels() && !is_labelled(data_.labels(), item))
      unlabelled.add(name);
    else
      values.push_back({item, line, text});
  }
  expect_matches(rows, strangers.count());
  notes.push_back(fmt::format("{}: {}{}; split by {}", excerpt(table_.path),
                              head_.str(header_line_, reader.comments()), id_note_, column()));
  strangers.note(table_.path, fmt::format("rows of other {}, passed over", items_.word()), notes);
  empty.note(table_.path, fmt::format("{} without a value, in no part", items_.word()), notes);
  unlabelled.note(table_.path, fmt::format("{} without a label, in no part", items_.word()), notes);
  if (const int64_t absent = std::count(seen.begin(), seen.end(), 0); absent > 0)
    notes.push_back(fmt::format("{}: {} without a row, in no part: {} of {}", excerpt(table_.path),
                                items_.word(), absent, items_.count()));
  return values;
}

void SplitColumn::find_columns(IsValue is_value) {
  const std::vector<std::string>& first = head_.first;
  const int64_t line = head_.format.first_line;
  const std::string place = fmt::format("{}:{}", excerpt(table_.path), line);
  const bool named = std::find(first.begin(), first.end(), table_.column) != first.end();
  if (head_.is_table || table_.header == Header::yes || (table_.header == Header::find_out && named))
    header_line_ = line;
  column_ = chosen_column(table_.column, names(), head_.columns(), place);
  // A column chosen by number: the first row is a header if it has no value there and names no node.
  const std::string& cell = first[static_cast<size_t>(column_)];
  if (table_.header == Header::find_out && !is_value(cell) && !is_missing(cell) &&
      (table_.by_row || items_.find(std::string_view(first[0])) < 0))
    header_line_ = line;
  if (table_.by_row) return;
  if (head_.columns() == 1)
    source_.fail(line, "one column, expected ids and values (--by-row: row i belongs to {} i)",
                 items_.word().substr(0, items_.word().size() - 1));
  const NodeColumns found =
      node_columns(names(), first_fields(table_.path, table_.text.input, head_, header_line_ > 0),
                   head_.columns(), {.id = table_.id, .label = table_.column}, false, place,
                   [&](std::string_view id) { return items_.find(id) >= 0; });
  id_ = found.id;
  id_note_ = found.id_note(names());
}

/// Id and value of a row.
std::pair<std::string, std::string> SplitColumn::fields(int64_t line, std::string_view record) const {
  std::pair<std::string, std::string> found;
  if (head_.columns() == 1 && trimmed(record).empty()) return found;  // a row without a value
  int64_t column = 0;
  for (RecordFields field(source_, line, record, head_.format.separator); field.next(); ++column) {
    if (column == id_) found.first = field.field();
    if (column == column_) found.second = field.field();
  }
  if (column != head_.columns())
    source_.fail(line, "{} fields, expected {} as in the first line", column, head_.columns());
  return found;
}

void SplitColumn::expect_matches(int64_t rows, int64_t strangers) const {
  if (table_.by_row && rows != items_.count())
    source_.fail(0, "{} rows for {} {}, expected one row each", rows, items_.count(), items_.word());
  if (!table_.by_row && strangers == rows)
    source_.fail(0,
                 "no {} is of the file's {}, expected {} (--id COLUMN chooses the ids, --by-row goes by "
                 "the order of rows)",
                 column_text(id_, names()), items_.word(), items_.str());
}

}  // namespace adj::detail
