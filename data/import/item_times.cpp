#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/item_times.h>
#include <adjoint/data/import/node_columns.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/times.h>
#include <adjoint/data/item_table.h>

#include <algorithm>
#include <optional>

namespace adj {

Tensor read_times(TableRows& rows, int64_t column, int64_t ids, int64_t items,
                  const std::function<int32_t(std::string_view id, int64_t row)>& item,
                  std::vector<std::string>& notes) {
  Tensor times = Tensor::full({items}, 0.0).to(DType::i64);
  int64_t* const values = times.mutable_data<int64_t>();
  std::fill_n(values, items, ItemTable::kNoTime);
  const std::string name = column_text(column, rows.names());
  std::optional<TimeKind> kind;
  int64_t row = 0;
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
    return integer ? *integer : static_cast<int64_t>(time->begin);
  };
  rows.read({column, ids}, [&](const RowFields& block) {
    for (size_t k = 0; k < block.lines.size(); ++k, ++row) {
      const std::string_view field = block.fields[2 * k];
      if (is_missing(field)) continue;
      const int64_t value = time_of(field, block.lines[k]);
      if (const int32_t number = item(block.fields[2 * k + 1], row); number >= 0) values[number] = value;
    }
  });
  const auto gaps = std::count(values, values + items, ItemTable::kNoTime);
  notes.push_back(fmt::format(
      "{}: times from {}{}{}", excerpt(rows.source().path()), name,
      !kind || *kind == TimeKind::number ? ", as they are" : ", in microseconds since 1970-01-01 UTC",
      gaps > 0 ? fmt::format("; {} without one", gaps) : ""));
  return times;
}

}  // namespace adj
