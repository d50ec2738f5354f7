#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace adj {

/// a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Upper limit of num_threads().
constexpr int kMaxThreads = 1024;

/// Maximum number of threads that run parallel loops at once in this process, callers and workers together.
/// Default: ADJOINT_NUM_THREADS, else OMP_NUM_THREADS, else the cores available to the process. Throws
/// adj::Error if ADJOINT_NUM_THREADS is not a number from 1 to kMaxThreads.
int num_threads();
/// 1 to kMaxThreads, for the whole process, from any thread; running loops follow at their next chunk.
void set_num_threads(int threads);

/// In this scope parallel loops of this thread run serially: for loader workers, which are already parallel.
/// Scopes nest.
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

/// Calls `f(begin, end)` over [0, n) in chunks of `grain` (the last may be shorter), in any order and on any
/// thread. The chunks depend on `n` and `grain` only, so a result built per chunk and merged in chunk order
/// is bitwise equal for every thread count. An exception of `f` is rethrown here, that of the lowest chunk if
/// there are several. Nested loops run serially on their caller's thread.
///
/// The caller works on chunks too, and finally waits for chunks that others have started. Workers are woken
/// only if several chunks are pending, so a chunk should take at least about 10 µs.
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
