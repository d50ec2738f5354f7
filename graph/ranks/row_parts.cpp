#include <adjoint/graph/detail/row_parts.h>

#include <algorithm>
#include <vector>

namespace adj::detail {

namespace {

/// `places(border)` of each group: how many of its rows are before a node.
template <class Places>
std::shared_ptr<const RowParts> make_parts(const RankRows& rank, int64_t groups, int64_t rows,
                                           int64_t all_rows, Places&& places) {
  auto parts = std::make_shared<RowParts>();
  parts->group = rank.group;
  parts->parts = rank.cut.parts();
  parts->all_rows = all_rows;
  const auto [first, last] = parts->range(rank.group.rank());
  std::vector<int64_t> offsets;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t part = first; part < last; ++part)
      offsets.push_back(places(g, rank.cut.begins()[static_cast<size_t>(part)] - rank.begin()));
  offsets.push_back(rows);
  parts->offsets = Tensor::from(offsets, rank.group.device());
  parts->host_offsets = std::move(offsets);
  return parts;
}

}  // namespace

std::shared_ptr<const RowParts> row_parts(const RankRows& rank, std::span<const int64_t> offsets,
                                          std::span<const int32_t> nodes, int64_t all_rows) {
  if (!rank.by_parts) return nullptr;
  return make_parts(rank, std::ssize(offsets) - 1, std::ssize(nodes), all_rows,
                    [&](int64_t g, int64_t border) {
                      const auto begin = nodes.begin() + offsets[static_cast<size_t>(g)],
                                 end = nodes.begin() + offsets[static_cast<size_t>(g) + 1];
                      return std::lower_bound(begin, end, border) - nodes.begin();
                    });
}

std::shared_ptr<const RowParts> row_parts(const RankRows& rank, int64_t first, int64_t last,
                                          int64_t all_rows) {
  if (!rank.by_parts) return nullptr;
  return make_parts(rank, 1, last - first, all_rows,
                    [&](int64_t, int64_t border) { return std::clamp(border, first, last) - first; });
}

}  // namespace adj::detail
