#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/import/detail/item_names.h>
#include <adjoint/data/import/detail/matching_id.h>
#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/split_table.h>
#include <adjoint/data/import/times.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

namespace adj {

namespace {

using detail::ItemNames;

/// Value of a labelled node or graph.
struct TableValue {
  int32_t item;
  int64_t line;
  std::string text;
};

constexpr size_t kNamesShown = 3;

/// What of a table is passed over.
class PassedOver {
 public:
  void add(std::string_view name, int64_t line) {
    if (count_ == 0) line_ = line;
    if (names_.size() < kNamesShown) names_.push_back(excerpt(name));
    ++count_;
  }
  int64_t count() const { return count_; }
  /// Adds "FILE: WHAT: 4 (a, b and 2 more), the first in line 3", if there are any.
  void note(const std::string& path, std::string_view what, std::vector<std::string>& notes) const {
    if (count_ == 0) return;
    const int64_t more = count_ - std::ssize(names_);
    notes.push_back(fmt::format("{}: {}: {} ({}{}), the first in line {}", excerpt(path), what, count_,
                                fmt::join(names_, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
                                line_));
  }

 private:
  std::vector<std::string> names_;
  int64_t count_ = 0, line_ = 0;
};

SplitTable readable(SplitTable table) {
  if (!table.text.input.copies)  // or the pipe was read already
    table.text.input.copies =
        std::make_shared<const InputCopies>(std::initializer_list<std::string>{table.path});
  return table;
}

/// The table's column for the labelled items of a dataset.
class SplitColumn {
 public:
  using IsValue = bool (*)(std::string_view);

  /// `file`: the dataset's. `is_value` decides whether the first row is a header.
  SplitColumn(const Dataset& data, const std::string& file, const SplitTable& table, IsValue is_value)
      : data_(data),
        file_(file),
        table_(readable(table)),
        items_(data, file, is_of_graphs(data.task), table.text.decimal, table.by_row,
               " (--by-row: by their order)"),
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

  const TextSource& source() const { return source_; }
  std::string column() const { return column_text(column_, head_.names()); }
  /// "nodes", "graphs", or what the table says.
  std::string word() const { return table_.item.empty() ? std::string(items_.word()) : table_.item + "s"; }
  /// All values of items with a label; `notes` gets lines on the format and on what is passed over.
  std::vector<TableValue> read(std::vector<std::string>& notes) {
    std::vector<TableValue> values;
    std::vector<uint8_t> seen(static_cast<size_t>(items_.count()));
    PassedOver strangers, empty, unlabelled;
    IdSpellings spellings;
    int64_t rows = 0;
    RecordReader reader(source_, head_.format);
    while (reader.next(table_.by_row && head_.columns() == 1)) {
      const int64_t line = reader.number();
      const auto [id, text] = fields(line, reader.record());
      const int32_t item =
          table_.by_row ? items_.find_row(rows) : items_.find(std::string_view(id), spellings);
      const std::string name = table_.by_row ? std::to_string(rows) : id;
      ++rows;
      if (item < 0 && table_.by_row)
        source_.fail(line, "row {}, from 0, of a file with {} {}, expected one row each", rows - 1,
                     items_.count(), word());
      if (item < 0 && !table_.by_row && items_.is_code(id)) source_.fail(line, "{}", items_.unknown(id));
      if (item < 0) {
        strangers.add(name, line);
        continue;
      }
      if (seen[static_cast<size_t>(item)]++ != 0)
        source_.fail(line, "'{}' occurs twice, expected one row each", excerpt(name));
      if (is_missing(text))
        empty.add(name, line);
      else if (data_.labels() && !detail::is_labelled(data_.labels(), item))
        unlabelled.add(name, line);
      else
        values.push_back({item, line, text});
    }
    expect_matches(rows, strangers.count());
    if (table_.by_row && table_.doubt_order) doubt_order(notes);
    notes.push_back(fmt::format("{}: {}{}{}; split by {}", excerpt(table_.path), head_.str(reader.skipped()),
                                id_note_, spellings.note(word().substr(0, word().size() - 1)), column()));
    strangers.note(table_.path, fmt::format("rows of other {}, passed over", word()), notes);
    empty.note(table_.path, fmt::format("{} without a value, in no part", word()), notes);
    unlabelled.note(table_.path, fmt::format("{} without a label, in no part", word()), notes);
    if (const int64_t absent = std::count(seen.begin(), seen.end(), 0); absent > 0)
      notes.push_back(fmt::format("{}: {} without a row, in no part: {} of {}", excerpt(table_.path), word(),
                                  absent, items_.count()));
    return values;
  }

 private:
  void find_columns(IsValue is_value) {
    const std::vector<std::string>& first = head_.first;
    const std::string place = head_.place(table_.path);
    const bool named = std::find(first.begin(), first.end(), table_.column) != first.end();
    const std::optional<int64_t> number = integer_in(table_.column);
    if (named && number && *number >= 1 && *number <= head_.columns() && !head_.is_table &&
        table_.header == Header::find_out && !head_.names_beside_numbers())
      data_fail("{}: column \"{}\", a number or a name in \"{}\", expected --header yes (a name) or no",
                place, table_.column, excerpt(head_.row));
    if (head_.is_table || table_.header == Header::yes || (table_.header == Header::find_out && named))
      head_.take_header();
    else
      head_.take_comment(table_.path, table_.header, [&](const auto& names) {
        return is_number(table_.column) ? std::ranges::any_of(names, is_common_name)
                                        : std::ranges::find(names, table_.column) != names.end();
      });
    column_ = chosen_column(table_.column, head_.names(), head_.columns(), place);
    // A column chosen by number: the first row is a header if it has no value there and names no node.
    const std::string& cell = first[static_cast<size_t>(column_)];
    if (!head_.has_header() && table_.header == Header::find_out &&
        (head_.names_beside_numbers() || (!is_value(cell) && !is_missing(cell))) &&
        (table_.by_row || items_.find(std::string_view(first[0])) < 0))
      head_.take_header();
    if (table_.by_row) return;
    if (head_.columns() == 1)
      source_.fail(head_.format.first_line,
                   "one column, expected ids and values (--by-row: row i belongs to {} i)",
                   word().substr(0, word().size() - 1));
    const NodeColumns found = node_columns(head_.names(), first_fields(table_.path, table_.text.input, head_),
                                           head_.columns(), {.id = table_.id, .label = table_.column}, false,
                                           place, [&](std::string_view id) { return items_.find(id) >= 0; });
    id_ = found.id;
    id_note_ = found.id_note(head_.names());
    if (found.possible_ids.empty()) return;
    TableRows rows(table_.path, table_.text, head_.header(), {});
    id_ = detail::matching_id(
        rows, found.possible_ids, [&](std::string_view id) { return items_.find(id); }, items_.count(),
        word());
    id_note_ = "; ids from " + column_text(id_, head_.names());
  }
  /// Id and value of a row.
  std::pair<std::string, std::string> fields(int64_t line, std::string_view record) const {
    std::pair<std::string, std::string> found;
    if (head_.columns() == 1 && trimmed(record).empty()) return found;  // a row without a value
    int64_t column = 0;
    for (RecordFields field(source_, line, record, head_.format.separator); field.next(); ++column) {
      if (column == id_) found.first = field.field();
      if (column == column_) found.second = field.field();
    }
    if (column != head_.columns()) source_.fail(line, "{}", head_.wrong_count(column));
    return found;
  }
  /// Rows without ids go by the order of the dataset, which need not be that of the table of its nodes.
  void doubt_order(std::vector<std::string>& notes) const {
    const bool of_graphs = is_of_graphs(data_.task);
    if (of_graphs ? data_.graph_names.empty() : !data_.node_ids && !data_.node_names) return;
    const ItemNames named(data_, file_, of_graphs, table_.text.decimal);
    const std::vector<std::string>& row = head_.has_header() ? head_.second : head_.first;
    for (int64_t k = 0; k < std::ssize(row); ++k) {
      const std::string& field = row[static_cast<size_t>(k)];
      if (k == column_ || named.find(field) < 0) continue;
      // A number may be the id of a node by chance.
      const std::string name = head_.has_header() ? lower(head_.names()[static_cast<size_t>(k)]) : "";
      if ((named.has_texts() && !is_number(field)) || name.ends_with("id") || name == "node" ||
          name == "name")
        source_.fail(0, "--by-row, but {} has names of {}, expected --id {}", column_text(k, head_.names()),
                     word(), choice_for(k, head_.names()));
    }
    const auto name_of = [&](int64_t number) { return excerpt(named.text(items_.find_row(number))); };
    notes.push_back(
        fmt::format("{}: row k is the k-th of the {} of {}, first \"{}\"{}, whatever the order of the table "
                    "that they came from",
                    excerpt(table_.path), word(), excerpt(file_), name_of(0),
                    items_.count() > 1 ? fmt::format(", second \"{}\"", name_of(1)) : ""));
  }
  void expect_matches(int64_t rows, int64_t strangers) const {
    if (table_.by_row && rows != items_.count())
      source_.fail(0, "{} rows for {} {}, expected one row each", rows, items_.count(), word());
    if (!table_.by_row && strangers == rows)
      source_.fail(0,
                   "no {} is of the file's {}, expected {} (--id COLUMN chooses the ids, --by-row goes by "
                   "the order of rows)",
                   column_text(id_, head_.names()), word(), items_.str());
  }

  const Dataset& data_;
  std::string file_;
  SplitTable table_;
  ItemNames items_;
  TextSource source_;
  TableHead head_;
  int64_t column_ = 0, id_ = -1;
  std::string id_note_;
};

Split split_of_parts(std::array<std::vector<int32_t>, 3>& parts, const SplitColumn& reader) {
  for (size_t p = 0; p < 3; ++p) {
    if (parts[p].empty())
      reader.source().fail(0, "no {} with a label is in {} by {}, expected some in train, val and test",
                           reader.word(),
                           p == 0   ? "train"
                           : p == 1 ? "val"
                                    : "test",
                           reader.column());
    std::sort(parts[p].begin(), parts[p].end());
  }
  return {Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])};
}

/// A value with its time.
struct TimedItem {
  long double time;
  const TableValue* value;
};

/// Ascending by time.
std::vector<TimedItem> times_in(const SplitColumn& reader, const std::vector<TableValue>& values,
                                TimeKind& kind) {
  std::vector<TimedItem> all;
  for (const TableValue& value : values) {
    const std::optional<Time> time = time_in(value.text);
    if (!time)
      reader.source().fail(value.line,
                           "\"{}\" in {}, expected a number or a date as 2021-03-05 or 2021-03-05T17:30:00Z",
                           excerpt(value.text), reader.column());
    if (all.empty()) kind = time->kind;
    if (time->kind != kind)
      reader.source().fail(value.line, "\"{}\" in {} is {}, expected {} as in line {}", excerpt(value.text),
                           reader.column(), name_of(time->kind), name_of(kind), values[0].line);
    all.push_back({time->begin, &value});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const TimedItem& a, const TimedItem& b) { return a.time < b.time; });
  return all;
}

/// Number of items up to a time, inclusive.
size_t count_until(const std::vector<TimedItem>& all, TimeKind kind, const std::string& text) {
  const std::optional<Time> time = time_in(text);
  if (!time || time->kind != kind)
    usage_fail("--until: '{}' is {}, expected {} as the times of the table", excerpt(text),
               time ? name_of(time->kind) : "no time", name_of(kind));
  return static_cast<size_t>(
      std::upper_bound(all.begin(), all.end(), time->end,
                       [](long double end, const TimedItem& item) { return end < item.time; }) -
      all.begin());
}

/// The change of time nearest to `wanted`, among those from `first` up to all but `reserved`.
size_t nearest_change(const std::vector<size_t>& changes, double wanted, size_t first, size_t reserved) {
  size_t best = first;
  for (size_t k = first; k + reserved < changes.size(); ++k)
    if (std::abs(static_cast<double>(changes[k]) - wanted) <
        std::abs(static_cast<double>(changes[best]) - wanted))
      best = k;
  return best;
}

/// Numbers of items before the two cuts, moved so that equal times stay together.
std::array<size_t, 2> cuts_of(const std::vector<TimedItem>& all, const SplitFractions& fractions,
                              const SplitColumn& reader) {
  std::vector<size_t> changes;
  for (size_t k = 1; k < all.size(); ++k)
    if (all[k].time != all[k - 1].time) changes.push_back(k);
  if (changes.size() < 2)
    reader.source().fail(0,
                         "{} different times in {} of {} with a label, expected 3 or more, as those of "
                         "equal times stay in one part",
                         all.empty() ? 0 : changes.size() + 1, reader.column(), reader.word());
  const auto count = static_cast<double>(all.size());
  const size_t train =
      nearest_change(changes, std::round((1.0 - fractions.val - fractions.test) * count), 0, 1);
  const size_t val = nearest_change(changes, std::round((1.0 - fractions.test) * count), train + 1, 0);
  return {changes[train], changes[val]};
}

std::string range_note(const std::vector<TimedItem>& all, size_t begin, size_t end, const char* part) {
  return fmt::format("{} {} to {} ({}, {:.1f} %)", part, excerpt(all[begin].value->text),
                     excerpt(all[end - 1].value->text), end - begin,
                     100.0 * static_cast<double>(end - begin) / static_cast<double>(all.size()));
}

}  // namespace

int part_named(std::string_view text) {
  const std::string word = lower(text);
  if (word == "train" || word == "training") return 0;
  if (word == "val" || word == "valid" || word == "validation" || word == "dev") return 1;
  return word == "test" || word == "testing" ? 2 : -1;
}

Split split_by_column(const Dataset& data, const std::string& file, const SplitTable& table,
                      std::vector<std::string>& notes) {
  SplitColumn reader(data, file, table, [](std::string_view text) { return part_named(text) >= 0; });
  std::array<std::vector<int32_t>, 3> parts;
  for (const TableValue& value : reader.read(notes)) {
    const int part = part_named(value.text);
    if (part < 0)
      reader.source().fail(value.line, "\"{}\" in {}, expected train, val or test, or nothing for no part",
                           excerpt(value.text), reader.column());
    parts[static_cast<size_t>(part)].push_back(value.item);
  }
  return split_of_parts(parts, reader);
}

Split split_by_time(const Dataset& data, const std::string& file, const SplitTable& table,
                    const TimeCuts& cuts, std::vector<std::string>& notes) {
  SplitColumn reader(data, file, table, [](std::string_view text) { return time_in(text).has_value(); });
  const std::vector<TableValue> values = reader.read(notes);
  TimeKind kind = TimeKind::number;
  const std::vector<TimedItem> all = times_in(reader, values, kind);
  const bool by_times = !cuts.train_until.empty();
  std::array<size_t, 2> ends{};
  if (by_times)
    ends = {count_until(all, kind, cuts.train_until), count_until(all, kind, cuts.val_until)};
  else
    ends = cuts_of(all, cuts.fractions, reader);
  if (ends[1] < ends[0])
    usage_fail("--until: '{}' is after '{}', expected the end of train, then that of val",
               excerpt(cuts.train_until), excerpt(cuts.val_until));
  const std::array<size_t, 4> bounds{0, ends[0], ends[1], all.size()};
  std::array<std::vector<int32_t>, 3> parts;
  for (size_t p = 0; p < 3; ++p)
    for (size_t k = bounds[p]; k < bounds[p + 1]; ++k) parts[p].push_back(all[k].value->item);
  Split split = split_of_parts(parts, reader);
  notes.push_back(fmt::format("split by time: {}, {}, {}", range_note(all, 0, ends[0], "train"),
                              range_note(all, ends[0], ends[1], "val"),
                              range_note(all, ends[1], all.size(), "test")));
  const auto count = static_cast<double>(all.size());
  const double wanted[] = {(1.0 - cuts.fractions.val - cuts.fractions.test) * count,
                           (1.0 - cuts.fractions.test) * count};
  if (!by_times && (std::abs(static_cast<double>(ends[0]) - std::round(wanted[0])) > 0.5 ||
                    std::abs(static_cast<double>(ends[1]) - std::round(wanted[1])) > 0.5))
    notes.push_back(fmt::format(
        "{} of equal times stay together, so the parts are not the {:.4g}, {:.4g} and "
        "{:.4g} % that were asked for",
        reader.word(), 100.0 * wanted[0] / count, 100.0 * cuts.fractions.val, 100.0 * cuts.fractions.test));
  return split;
}

}  // namespace adj
