#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/table_rows.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/times.h>
#include <adjoint/data/item_table.h>

#include <algorithm>
#include <optional>

namespace adj {

namespace {

bool names_ends(const std::vector<std::string>& fields, const std::string& place) {
  return edge_columns(fields, {}, place).rule == EdgeColumns::Rule::known;
}

}  // namespace

TableRows::TableRows(const std::string& path, const TextFormat& text, Header header,
                     std::span<const std::string> chosen)
    : path_(path),
      text_(text),
      source_(path, text.input),
      head_(read_head(path, text, false, [](const TableHead&, const auto&) { return false; })) {
  if (head_.empty) source_.fail(0, "no rows, expected some{}", head_.beside_comments());
  place_ = head_.place(path);
  const std::vector<std::string>& first = head_.first;
  const auto has_chosen = [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(chosen, [&](const std::string& name) {
      return !is_number(name) && std::ranges::find(names, name) != names.end();
    });
  };
  const auto says_columns = [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, is_common_name) || names_ends(names, place_) || has_chosen(names);
  };
  const bool named = has_chosen(first);
  if (!head_.is_table && header != Header::no && is_title(first, head_.second))
    data_fail("{}: \"{}\", a line above the header, expected the header first (sed 1d removes it)", place_,
              excerpt(head_.row));
  const auto is_named = [](const std::string& name) { return !name.empty(); };
  bool is_header = head_.is_table || header == Header::yes || (header == Header::find_out && named);
  if (!is_header && head_.take_comment(path, header, says_columns)) return;
  if (!is_header && header == Header::find_out && head_.may_be_header()) {
    is_header = head_.names_beside_numbers() || head_.numbers_under_words() || says_columns(first) ||
                (first[0].empty() && std::ranges::any_of(first, is_named));
    if (!is_header)
      data_fail("{}: \"{}\", a header or a row, expected --header yes or no to say which", place_,
                excerpt(head_.row));
  }
  guessed_header_ = !head_.is_table && header == Header::find_out && !named;
  if (!is_header) return;
  head_.take_header();
  if (head_.second.empty()) data_fail("{}: no rows after the header, expected some", place_);
}

int64_t TableRows::column(const std::string& choice) const {
  return choice.empty() ? -1 : chosen_column(choice, names(), columns(), place_);
}

void TableRows::expect_distinct(std::vector<int64_t> columns) const {
  std::erase(columns, -1);
  std::sort(columns.begin(), columns.end());
  if (const auto twice = std::adjacent_find(columns.begin(), columns.end()); twice != columns.end())
    data_fail("{}: {} has two purposes, expected one for each column", place_, column_text(*twice, names()));
}

RowFields TableRows::parse(const TextBlock& block, const std::vector<int64_t>& slots, size_t width) const {
  RowFields rows;
  RecordCursor cursor(block, head_.format);
  while (cursor.next()) {
    const int64_t line = cursor.number();
    rows.lines.push_back(line);
    rows.fields.resize(rows.fields.size() + width);
    std::string_view* const row = rows.fields.data() + rows.fields.size() - width;
    const int64_t count =
        with_fields(source_, line, cursor.record(), head_.format.separator, cursor.quotes(), [&](auto field) {
          int64_t column = 0;
          for (; field.next(); ++column) {
            const int64_t slot = column < std::ssize(slots) ? slots[static_cast<size_t>(column)] : -1;
            if (slot < 0) continue;
            std::string_view text = field.field();
            if constexpr (std::is_same_v<decltype(field), RecordFields>)
              if (field.copied()) text = *rows.copies.emplace_back(std::make_unique<std::string>(text));
            row[slot] = text;
          }
          return column;
        });
    if (count != columns()) source_.fail(line, "{}", head_.wrong_count(count));
  }
  rows.skipped = cursor.skipped();
  return rows;
}

int64_t TableRows::read(const std::vector<int64_t>& columns,
                        const std::function<void(const RowFields&)>& take) {
  std::vector<int64_t> slots(static_cast<size_t>(this->columns()), -1);
  for (size_t k = 0; k < columns.size(); ++k)
    if (columns[k] >= 0) slots[static_cast<size_t>(columns[k])] = static_cast<int64_t>(k);
  TextSource source(path_, text_.input);
  source.cut_by([this](std::string_view text, int64_t line) { return head_.format.last_end(text, line); });
  int64_t count = 0;
  skipped_ = {};
  source.for_blocks([&](const TextBlock& block) { return parse(block, slots, columns.size()); },
                    [&](const RowFields& rows) {
                      count += std::ssize(rows.lines);
                      skipped_ += rows.skipped;
                      take(rows);
                    });
  return count;
}

std::string TableRows::note() const { return fmt::format("{}: {}", excerpt(path_), head_.str(skipped_)); }

Tensor read_times(TableRows& rows, int64_t column, int64_t ids, int64_t items,
                  const std::function<int32_t(std::string_view id, int64_t row)>& item,
                  std::vector<std::string>& notes) {
  Tensor times = Tensor::full({items}, 0.0).to(DType::i64);
  int64_t* const values = times.mutable_data<int64_t>();
  std::fill_n(values, items, ItemTable::kNoTime);
  const std::string name = column_text(column, rows.names());
  std::optional<TimeKind> kind;
  int64_t row = 0, cut = 0, gap_line = 0;
  const auto time_of = [&](std::string_view field, int64_t line) {
    // Exact: 36.0 and 1.6e9 are integers too.
    const std::optional<int64_t> integer = integer_id(field);
    const std::optional<Time> time = time_in(field);
    if (!time || (time->kind == TimeKind::number && !integer))
      rows.source().fail(line, "\"{}\" in {}, expected a 64-bit integer or a date as 2021-03-05T17:30:00Z{}",
                         excerpt(field), name,
                         time ? ": a number with a fraction, or too large to be exact" : "");
    if (!kind) kind = time->kind;
    if (time->kind != *kind)
      rows.source().fail(line, "\"{}\" in {} is {}, expected {} as in the first row", excerpt(field), name,
                         name_of(time->kind), name_of(*kind));
    cut += time->cut;
    return integer ? *integer : static_cast<int64_t>(time->begin);
  };
  rows.read({column, ids}, [&](const RowFields& block) {
    for (size_t k = 0; k < block.lines.size(); ++k, ++row) {
      const std::string_view field = block.fields[2 * k];
      if (is_missing(field)) {
        if (gap_line == 0) gap_line = block.lines[k];
        continue;
      }
      const int64_t value = time_of(field, block.lines[k]);
      if (const int32_t number = item(block.fields[2 * k + 1], row); number >= 0) values[number] = value;
    }
  });
  const auto gaps = std::count(values, values + items, ItemTable::kNoTime);
  notes.push_back(fmt::format(
      "{}: times from {}{}{}{}{}", excerpt(rows.source().path()), name,
      !kind || *kind == TimeKind::number ? ", as they are" : ", in microseconds since 1970-01-01 UTC",
      cut > 0 ? fmt::format("; {} with digits beyond, which are cut off", cut) : "",
      gaps > 0 ? fmt::format("; {} without one", gaps) : "",
      gap_line > 0 ? fmt::format(", the first in line {}", gap_line) : ""));
  return times;
}

}  // namespace adj
