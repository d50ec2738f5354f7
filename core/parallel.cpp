#include <adjoint/core/cores.h>
#include <adjoint/core/cpu/thread_pool.h>
#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>

#include <algorithm>
#include <atomic>

namespace adj {

namespace {

std::atomic<int>& limit() {
  static std::atomic<int> threads = default_threads();
  return threads;
}

thread_local int serial_scopes = 0;  // includes running loops

}  // namespace

int num_threads() { return limit().load(std::memory_order_relaxed); }

void set_num_threads(int threads) {
  ADJ_CHECK(threads >= 1 && threads <= kMaxThreads, "set_num_threads: expected 1 to {}, got {}", kMaxThreads,
            threads);
  limit().store(threads, std::memory_order_relaxed);
}

SerialScope::SerialScope() { ++serial_scopes; }
SerialScope::~SerialScope() { --serial_scopes; }

namespace detail {

void parallel_for(int64_t n, int64_t grain, ChunkBody body, void* context) {
  grain = std::max<int64_t>(grain, 1);
  const SerialScope scope;
  if (serial_scopes > 1 || num_threads() == 1) {
    for (int64_t begin = 0; begin < n; begin += grain)
      body(context, begin, begin + std::min(grain, n - begin));
    return;
  }
  run_chunks(n, grain, body, context);
}

}  // namespace detail

}  // namespace adj
