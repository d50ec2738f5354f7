#include <adjoint/core/text.h>
#include <adjoint/data/import/column_choice.h>

#include <fmt/ranges.h>

namespace adj {

ColumnChoice column_choice(const std::string& text, const std::string& place) {
  constexpr int64_t kHashColumns = 64, kTextColumns = 256, kMostColumns = 1 << 20;
  const size_t equals = text.rfind('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
  const std::string name =
      equals == std::string::npos
          ? ""
          : text.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
  const std::optional<ColumnType> type = value_named<ColumnType>(name);
  if (!type)
    data_fail("{} {}: expected COLUMN=TYPE, separated by commas, with a type of {}", place, excerpt(text),
              fmt::join(names_of(ColumnType{}), ", "));
  const bool set = type == ColumnType::set, hashed = type == ColumnType::hash || type == ColumnType::text;
  ColumnChoice choice{text.substr(0, equals), *type};
  if (hashed) choice.columns = type == ColumnType::hash ? kHashColumns : kTextColumns;
  if (colon == std::string::npos) return choice;
  const std::optional<int64_t> columns = integer_in(text.substr(colon + 1));
  if (!(hashed || set) || !columns || *columns < (set ? 2 : 1) || *columns > kMostColumns)
    data_fail("{} {}: expected a number of columns from 1 to {}, of hash, text or set, as in zip=hash:64",
              place, excerpt(text), kMostColumns);
  choice.columns = *columns;
  return choice;
}

}  // namespace adj
