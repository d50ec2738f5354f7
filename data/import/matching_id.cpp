#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/matching_id.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/node_columns.h>

#include <algorithm>

namespace adj::detail {

int64_t matching_id(TableRows& rows, const std::vector<int64_t>& columns,
                    const std::function<int32_t(std::string_view)>& find, int64_t count,
                    std::string_view whose, const std::vector<std::string>& ends, std::string_view remedy) {
  std::vector<std::vector<bool>> seen(columns.size(), std::vector<bool>(static_cast<size_t>(count)));
  std::vector<int64_t> found(columns.size());
  rows.read(columns, [&](const RowFields& block) {
    for (size_t k = 0; k < block.fields.size(); ++k) {
      const size_t column = k % columns.size();
      const int32_t id = find(block.fields[k]);
      if (id < 0 || seen[column][static_cast<size_t>(id)]) continue;
      seen[column][static_cast<size_t>(id)] = true;
      ++found[column];
    }
  });
  const int64_t most = std::ranges::max(found),
                least = most == count ? count : std::max<int64_t>(1, (most + 1) / 2);
  std::vector<int64_t> matching;
  for (size_t k = 0; k < columns.size(); ++k)
    if (found[k] >= least) matching.push_back(columns[k]);
  std::vector<int64_t> named;
  for (const int64_t column : matching)
    if (std::ranges::any_of(ends, [&](const std::string& end) {
          return names_nodes_of(end, column_name(column, rows.names()));
        }))
      named.push_back(column);
  if (matching.size() > 1 && named.size() == 1) return named[0];
  if (matching.size() > 1)
    data_fail("{}: {} and {} both have {}ids of {}, expected {}", rows.place(),
              column_text(matching[0], rows.names()), column_text(matching[1], rows.names()),
              most == count ? "all " : "", whose, remedy);
  return matching.empty() ? columns[0] : matching[0];
}

}  // namespace adj::detail
