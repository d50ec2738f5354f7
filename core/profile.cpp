#include <adjoint/core/capture.h>
#include <adjoint/core/error.h>
#include <adjoint/core/profile.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace adj {

namespace {

using Clock = std::chrono::steady_clock;
using detail::SpanKind;

constexpr size_t kMostEvents = 1'000'000;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// A span that is not over yet.
struct OpenSpan {
  const void* owner;
  const char* name;
  SpanKind kind;
  bool backward;
  uint64_t profile;  // the number of the profiler that it is of
  Clock::time_point begin;
  double inner_us = 0.0;  // in ops that it called
  uint64_t allocated = 0, copied = 0;
  size_t peak = 0;
};

thread_local std::vector<OpenSpan> open;
thread_local bool backward = false;

int this_thread() {
  static std::atomic<int> threads = 0;
  thread_local const int number = ++threads;
  return number;
}

struct Event {
  size_t row;
  SpanKind kind;
  bool backward;
  int thread;
  double begin_us, us;
  uint64_t allocated, copied;
};

const char* category(const Event& e) {
  if (e.kind == SpanKind::op) return e.backward ? "backward" : "forward";
  return e.kind == SpanKind::kernel ? "kernel" : "copy";
}

std::mutex mutex;  // guards what follows, and what the profiler has gathered
Profiler::State* current = nullptr;
std::atomic<uint64_t> profiles = 0;

}  // namespace

struct Profiler::State {
  Clock::time_point begin = Clock::now();
  std::map<std::string, size_t, std::less<>> index;
  std::vector<ProfileRow> rows;
  std::vector<Event> events;
  uint64_t left_out = 0;

  ProfileRow& row_of(const char* name) {
    const auto [entry, fresh] = index.try_emplace(name, rows.size());
    if (fresh) rows.push_back({.name = name});
    return rows[entry->second];
  }

  void add(const OpenSpan& span, double us, bool in_op) {
    ProfileRow& row = row_of(span.name);
    if (events.size() < kMostEvents)
      events.push_back({static_cast<size_t>(&row - rows.data()), span.kind, span.backward, this_thread(),
                        microseconds(span.begin - begin), us, span.allocated, span.copied});
    else
      ++left_out;
    if (in_op) return;  // whose time it is
    ++(span.backward ? row.backward_calls : row.forward_calls);
    (span.backward ? row.backward_ms : row.forward_ms) += (us - span.inner_us) / 1e3;
    row.allocated += span.allocated;
    row.copied += span.copied;
    row.peak = std::max(row.peak, span.peak);
  }
};

Profiler::Profiler() : state_(std::make_unique<State>()) {
  const std::lock_guard lock(mutex);
  ADJ_CHECK(current == nullptr, "profiler: a Profiler is already active");
  current = state_.get();
  ++profiles;
  detail::profile_on.store(true, std::memory_order_relaxed);
}

Profiler::~Profiler() {
  const std::lock_guard lock(mutex);
  detail::profile_on.store(false, std::memory_order_relaxed);
  current = nullptr;
}

std::vector<ProfileRow> Profiler::rows() const {
  std::vector<ProfileRow> rows;
  {
    const std::lock_guard lock(mutex);
    std::copy_if(state_->rows.begin(), state_->rows.end(), std::back_inserter(rows),
                 [](const ProfileRow& r) { return r.forward_calls + r.backward_calls > 0; });
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.forward_ms + a.backward_ms > b.forward_ms + b.backward_ms;
  });
  return rows;
}

std::string Profiler::chrome_trace() const {
  const std::lock_guard lock(mutex);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  for (const Event& e : state_->events)
    fmt::format_to(
        std::back_inserter(text),
        R"({}{{"name": {}, "cat": "{}", "ph": "X", "ts": {:.3f}, "dur": {:.3f}, "pid": 1, "tid": {}, )"
        R"("args": {{"allocated": {}, "copied": {}}}}})",
        &e == state_->events.data() ? "\n" : ",\n", json_text(state_->rows[e.row].name), category(e),
        e.begin_us, e.us, e.thread, e.allocated, e.copied);
  return text + fmt::format("\n], \"otherData\": {{\"left_out\": {}}}}}\n", state_->left_out);
}

std::string profile_table(const std::vector<ProfileRow>& rows) {
  ProfileRow all{.name = "all"};
  size_t width = 2;
  for (const ProfileRow& r : rows) {
    width = std::max(width, r.name.size());
    all.forward_calls += r.forward_calls;
    all.backward_calls += r.backward_calls;
    all.forward_ms += r.forward_ms;
    all.backward_ms += r.backward_ms;
    all.allocated += r.allocated;
    all.copied += r.copied;
    all.peak = std::max(all.peak, r.peak);
  }
  std::string text =
      fmt::format("{:{}}  {:>9} {:>12} {:>9} {:>12} {:>6} {:>12} {:>11} {:>10}\n", "op", width, "forward",
                  "ms", "backward", "ms", "%", "allocated MB", "copied MB", "peak MB");
  const double ms = std::max(all.forward_ms + all.backward_ms, 1e-9);
  const auto line = [&](const ProfileRow& r) {
    fmt::format_to(std::back_inserter(text),
                   "{:{}}  {:>9} {:>12.3f} {:>9} {:>12.3f} {:>6.1f} {:>12.1f} {:>11.1f} {:>10.1f}\n", r.name,
                   width, r.forward_calls, r.forward_ms, r.backward_calls, r.backward_ms,
                   100.0 * (r.forward_ms + r.backward_ms) / ms, static_cast<double>(r.allocated) / 1e6,
                   static_cast<double>(r.copied) / 1e6, static_cast<double>(r.peak) / 1e6);
  };
  for (const ProfileRow& r : rows) line(r);
  line(all);
  return text;
}

namespace detail {

// A captured step runs later, outside of the profiler.
void begin_span(const void* owner, const char* name, SpanKind kind) {
  if (recorder() != nullptr) return;
  const uint64_t profile = profiles.load(std::memory_order_relaxed);
  if (!open.empty() && open.back().profile != profile) open.clear();
  push_nvtx_range(name);
  open.push_back({owner, name, kind, backward, profile, Clock::now()});
}

void end_span(const void* owner) noexcept {
  if (open.empty() || open.back().owner != owner) return;
  const OpenSpan span = open.back();
  open.pop_back();
  const double us = microseconds(Clock::now() - span.begin);
  pop_nvtx_range();
  const bool op = span.kind == SpanKind::op;
  if (!open.empty()) {
    OpenSpan& outer = open.back();
    outer.inner_us += op ? us : span.inner_us;
    if (!op) {
      outer.allocated += span.allocated;
      outer.copied += span.copied;
      outer.peak = std::max(outer.peak, span.peak);
    }
  }
  const std::lock_guard lock(mutex);
  if (current != nullptr && span.profile == profiles.load(std::memory_order_relaxed))
    current->add(span, us, !op && !open.empty());
}

void profile_allocation(size_t bytes, size_t live) {
  if (open.empty()) return;
  open.back().allocated += bytes;
  open.back().peak = std::max(open.back().peak, live);
}

void KernelSpan::begin(const char* name, SpanKind kind, size_t copied) {
  if (kind == SpanKind::copy && device_.is_cpu()) return;
  begin_span(this, name, kind);
  if (!open.empty() && open.back().owner == this) open.back().copied = copied;
}

void KernelSpan::end() noexcept {
  if (open.empty() || open.back().owner != this) return;
  try {
    if (device_.is_cuda()) runtime(device_).synchronize_stream(current_stream(device_));
  } catch (const Error&) {  // the next call reports a broken device
  }
  end_span(this);
}

BackwardPass::BackwardPass() : outer_(std::exchange(backward, true)) {}
BackwardPass::~BackwardPass() { backward = outer_; }

}  // namespace detail

}  // namespace adj
