#pragma once

#include <adjoint/core/keyed_cache.h>
#include <adjoint/graph/ranks/rank_edges.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace adj::detail {

/// A rank's rows by group and, within each, by part of the cut of all rows: for sums over rows that go part
/// by part, and so have the same bits for any number of ranks.
struct RowParts {
  Group group;
  int64_t parts = 0;     ///< of all ranks
  int64_t all_rows = 0;  ///< likewise
  /// int64 [G P + 1]: of the P parts of this rank, part p of group g has the rows from offsets[g P + p] on.
  Tensor offsets;
  std::vector<int64_t> host_offsets;  ///< the same
  mutable KeyedCache cache;           ///< of what is derived from them

  /// First and last (exclusive) part of a rank.
  std::pair<int64_t, int64_t> range(int64_t rank) const {
    return {rank * parts / group.size(), (rank + 1) * parts / group.size()};
  }
  /// P.
  int64_t local_parts() const {
    const auto [first, last] = range(group.rank());
    return last - first;
  }
};

/// Of rows that are, group by group (`offsets` [G + 1]), those of the nodes `nodes`, ascending in each, by
/// their place among the rank's; null unless sums go by parts. `all_rows`: of all ranks.
std::shared_ptr<const RowParts> row_parts(const RankRows& rank, std::span<const int64_t> offsets,
                                          std::span<const int32_t> nodes, int64_t all_rows);
/// Of the rank's nodes [first, last), by their place among its own, as one group.
std::shared_ptr<const RowParts> row_parts(const RankRows& rank, int64_t first, int64_t last,
                                          int64_t all_rows);

}  // namespace adj::detail
