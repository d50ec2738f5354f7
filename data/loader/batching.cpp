#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/data/detail/batching.h>

namespace adj::detail {

// Not ceil_div(): items + size may leave 64 bits.
int64_t count_batches(int64_t items, int64_t size, bool drop_last) {
  return items / size + (drop_last || items % size == 0 ? 0 : 1);
}

void check_prefetching(std::string_view loader, int64_t workers, int64_t depth) {
  ADJ_CHECK(workers >= 0 && workers <= kMaxThreads && depth >= 0,
            "{}: {} workers and a depth of {}, expected 0 to {} and 0 or more", loader, workers, depth,
            kMaxThreads);
}

}  // namespace adj::detail
