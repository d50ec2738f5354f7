#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace adj {

/// a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What num_threads() is at most: more than a machine has cores, and than would help.
constexpr int kMaxThreads = 1024;

/// Threads that parallel loops of this process may compute on at once, whoever runs them: the callers of
/// loops and the workers that help them. Until set, ADJOINT_NUM_THREADS, else OMP_NUM_THREADS, else the cores
/// that this process may use. Throws adj::Error if ADJOINT_NUM_THREADS is no number from 1 to kMaxThreads.
int num_threads();
/// 1 to kMaxThreads, for the whole process, from any thread; loops that are running follow at their next
/// chunk.
void set_num_threads(int threads);

/// While it lives, parallel loops of this thread run on this thread alone: for the workers of a loader, which
/// are many already. Scopes nest.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;
};

namespace detail {
using ChunkBody = void (*)(void* context, int64_t begin, int64_t end);
void parallel_for(int64_t n, int64_t grain, ChunkBody body, void* context);
}  // namespace detail

/// Calls `f(begin, end)` over [0, n) cut into chunks of `grain` (the last may be shorter), in any order and
/// on any thread. The cuts depend on `n` and `grain` alone, so a result built per chunk and merged in chunk
/// order has the same bits for every thread count. What `f` throws is rethrown here, that of the first chunk
/// that threw if several did. Loops do not nest: an inner one runs on its caller's thread.
///
/// The caller takes chunks itself until none is left, and then waits only for those that others have begun.
/// Another thread is called in only where several chunks wait, so a chunk is to be worth that: some 10 µs.
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
