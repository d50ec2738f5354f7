#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include <omp.h>

namespace adj {

int num_threads() { return omp_get_max_threads(); }

void set_num_threads(int threads) {
  ADJ_CHECK(threads >= 1, "set_num_threads: expected 1 or more, got {}", threads);
  omp_set_num_threads(threads);
}

namespace detail {

void parallel_for(int64_t n, int64_t grain, ChunkBody body, void* context) {
  grain = std::max<int64_t>(grain, 1);
  const int64_t chunks = (n + grain - 1) / grain;
  const auto run = [&](int64_t chunk) { body(context, chunk * grain, std::min(n, (chunk + 1) * grain)); };
  if (num_threads() == 1 || omp_in_parallel()) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) run(chunk);
    return;
  }
  std::exception_ptr first;
  std::mutex mutex;
  // Dynamic: another process may hold one of the cores for a while, and the chunks then go to the others.
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    try {
      run(chunk);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace detail

}  // namespace adj
