#pragma once

#include <adjoint/core/device.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace adj {

/// Cost of one op, or of kernels and copies outside of ops, while a Profiler lives. Times are of the op
/// itself, without ops that it calls. On a GPU they include the kernels' run times: each op is synchronized.
struct ProfileRow {
  std::string name;                               ///< of the op or kernel; "copy" for copies
  int64_t forward_calls = 0, backward_calls = 0;  ///< finished ones
  double forward_ms = 0.0, backward_ms = 0.0;     ///< milliseconds, of all calls together
  uint64_t allocated = 0;                         ///< bytes requested, host and devices
  uint64_t copied = 0;                            ///< bytes between host and devices
  size_t peak = 0;  ///< most bytes that were live on one device when it allocated
};

/// During its lifetime ops, kernels and copies of all threads are timed, and with CUDA are NVTX ranges.
/// Without a profiler each costs one relaxed load of an atomic. New steps are not captured meanwhile
/// (optim/captured_step.h); what a step captured before replays is not seen. One at a time: a second one
/// throws Error.
class Profiler {
 public:
  Profiler();
  ~Profiler();

  /// Totals by op, longest first. Open spans do not count.
  std::vector<ProfileRow> rows() const;
  /// Trace event format, for chrome://tracing and ui.perfetto.dev: a complete event for each op and, nested
  /// in it, kernel, with its thread, category (forward, backward, kernel, copy) and bytes. At most the first
  /// million events; "left_out" counts the others.
  std::string chrome_trace() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

/// Rows as a table, a line each, and their sums.
std::string profile_table(const std::vector<ProfileRow>& rows);

namespace detail {

inline std::atomic<bool> profile_on = false;

enum class SpanKind : uint8_t { op, kernel, copy };
/// `owner` tells spans of a thread apart: end_span() of one that was not begun does nothing.
void begin_span(const void* owner, const char* name, SpanKind kind);
void end_span(const void* owner) noexcept;
void profile_allocation(size_t bytes, size_t live);

}  // namespace detail

/// True while a Profiler lives.
inline bool profiling() { return detail::profile_on.load(std::memory_order_relaxed); }

namespace detail {

/// Times a kernel, or a copy between the host and `device`, during its lifetime; copies within the host are
/// not timed. Waits at the end for the thread's current stream of `device`.
class KernelSpan {
 public:
  KernelSpan(const char* name, Device device, SpanKind kind = SpanKind::kernel, size_t copied = 0)
      : device_(device) {
    if (profiling()) begin(name, kind, copied);
  }
  ~KernelSpan() {
    if (profiling()) end();
  }
  KernelSpan(const KernelSpan&) = delete;
  KernelSpan& operator=(const KernelSpan&) = delete;

 private:
  void begin(const char* name, SpanKind kind, size_t copied);
  void end() noexcept;
  Device device_;
};

/// While it lives, ops of this thread count as backward.
class BackwardPass {
 public:
  BackwardPass();
  ~BackwardPass();
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

 private:
  bool outer_;
};

/// Ranges on a GPU's timeline (core/cuda/); nothing in a build without CUDA.
void push_nvtx_range(const char* name);
void pop_nvtx_range();

}  // namespace detail

}  // namespace adj
