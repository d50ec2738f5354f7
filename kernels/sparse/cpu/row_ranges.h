#pragma once

#include <adjoint/core/parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace adj::kernels::cpu {

/// Ends of `ranges` row ranges with about equal numbers of entries of an unsorted list: 0, …, rows. The owner
/// of a range scans the whole list and takes its entries in list order; so a row's sum has that order for any
/// ranges, and these may depend on the number of threads.
inline std::vector<int64_t> row_ranges(const int32_t* row, int64_t entries, int64_t rows, int64_t ranges) {
  std::vector<int64_t> ends(static_cast<size_t>(ranges) + 1, rows);
  ends.front() = 0;
  if (ranges == 1 || entries == 0) return ends;
  constexpr int64_t kSample = 1024;
  const int64_t count = std::min(entries, kSample);
  std::vector<int32_t> sample(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k) sample[static_cast<size_t>(k)] = row[entries * k / count];
  std::sort(sample.begin(), sample.end());
  for (int64_t r = 1; r < ranges; ++r)
    ends[static_cast<size_t>(r)] = sample[static_cast<size_t>(count * r / ranges)];
  return ends;
}

}  // namespace adj::kernels::cpu
