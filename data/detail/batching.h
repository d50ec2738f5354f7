#pragma once

#include <cstdint>
#include <string_view>

namespace adj::detail {

/// Number of batches of `size` items (at least 1) in an epoch of `items`; `drop_last` omits a smaller last
/// batch.
int64_t count_batches(int64_t items, int64_t size, bool drop_last = false);

/// Throws, naming the loader, unless there are 0 to kMaxThreads workers and the depth is 0 or more.
void check_prefetching(std::string_view loader, int64_t workers, int64_t depth);

}  // namespace adj::detail
