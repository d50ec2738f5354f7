#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace adj {

/// a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Threads that parallel loops use: OMP_NUM_THREADS or all cores until set.
int num_threads();
void set_num_threads(int threads);

namespace detail {
using ChunkBody = void (*)(void* context, int64_t begin, int64_t end);
void parallel_for(int64_t n, int64_t grain, ChunkBody body, void* context);
}  // namespace detail

/// Calls `f(begin, end)` over [0, n) cut into chunks of `grain` (the last may be shorter), in any order and
/// on any thread. The cuts depend on `n` and `grain` alone, so a result built per chunk and merged in chunk
/// order has the same bits for every thread count. An exception thrown by `f` is rethrown here. Loops do not
/// nest: an inner one runs on its caller's thread.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain) {
    f(int64_t{0}, n);
    return;
  }
  auto body = [](void* context, int64_t begin, int64_t end) {
    (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
  };
  detail::parallel_for(n, grain, body, const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace adj
