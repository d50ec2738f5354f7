// Workers for parallel loops. A loop is a job: a slot that outlives the loop, from which its caller and
// workers take chunks. The chunks are split into one part per possible thread, each a contiguous run with its
// own counter. A thread takes the chunks of its own part first, then steals from the others:
// - Threads do not contend for one counter, and a thread gets the same rows loop after loop: the output of
//   one op is in the cache of the core that reads it in the next.
// - No locks, and no waiting for threads that are not scheduled: a late thread finds its part taken by
//   others. Taking a chunk and joining the loop are one atomic step, so a late thread never touches a caller
//   that has moved on.
// - The caller takes chunks until none is left, and waits only for chunks in progress. Workers are called by
//   halving: a thread with several parts hands the second half to another, which does the same in turn. Awake
//   threads join at once; a sleeping one is woken only if the rest would take much longer than the wake-up,
//   so short loops wake no thread.
#include <adjoint/core/cpu/thread_pool.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace adj::detail {

namespace {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr uint32_t kMaxParts = 256;  // also the most threads of one loop
constexpr uint32_t kMaxWorkers = 1024;
constexpr int64_t kMaxChunks = std::numeric_limits<int32_t>::max();  // per job

/// Busy-wait time of an idle thread on its core: about the gap between the loops of a training step.
constexpr nanoseconds kPatience{50'000};
/// After that, how long it stays awake while yielding its core: a wake-up costs tens of such loops.
constexpr nanoseconds kWakefulness{500'000};
/// A multiple of the wake-up cost: 2 to 10 µs for the waker, 5 to 50 µs until the other thread runs.
constexpr nanoseconds kWorthWaking{80'000};
/// Assumed duration of a chunk until one has been measured.
constexpr nanoseconds kUsualChunk{10'000};

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Waits for a bounded time; true if the condition was met.
template <class Condition>
bool soon(Condition condition) {
  const auto start = steady_clock::now();
  nanoseconds passed{0};
  while (passed < kPatience + kWakefulness) {
    for (int round = 0; round < 16; ++round) {
      if (condition()) return true;
      relax();
    }
    passed = steady_clock::now() - start;
    if (passed > kPatience) sched_yield();
  }
  return condition();
}

/// The upper half of the word is the loop number of the job that the lower half belongs to.
constexpr uint64_t tagged(uint32_t loop, uint32_t value) { return uint64_t{loop} << 32 | value; }
constexpr uint32_t loop_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint32_t value_of(uint64_t word) { return static_cast<uint32_t>(word); }

/// A range of parts to work on; the first is the owner's own.
struct Span {
  uint32_t first = 0, end = 0;
  uint32_t helpers = 0;  // helpers already granted by the limit
  uint32_t parts = 0;    // number of parts of the loop: the job itself may be on its next loop by then
  uint32_t size() const { return end - first; }
};

struct alignas(64) Part {
  std::atomic<uint64_t> left{0};  // tagged: chunks not yet taken
};

/// The loop that a thread is running, reused for its next loop, then by other threads; never freed, since a
/// worker may look at it long after. The loop's description may be read while it changes: it is valid only if
/// a chunk is taken afterwards.
struct alignas(64) Job {
  std::atomic<int64_t> first{0}, end{0}, grain{1};
  std::atomic<uint32_t> chunks{0};
  std::atomic<ChunkBody> body{nullptr};
  std::atomic<void*> context{nullptr};

  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<uint64_t> helpers{0};  // tagged: helpers counted in `busy` for this job
  std::mutex mutex;                  // guards the members below
  std::exception_ptr error;
  int64_t error_at = 0;  // begin of the failed chunk

  Part part[kMaxParts];
  uint32_t loop = 0;  // number of the latest loop; used by the caller only
  Job* next_free = nullptr;
};

struct alignas(64) Worker {
  enum Signal : int { idle, asleep, taken, called };
  std::atomic<int> signal{called};
  // The assignment, written by the thread that claimed or created this worker.
  Job* job = nullptr;
  uint32_t loop = 0;
  Span span;
};

/// Trivial types only: usable before static constructors, after static destructors, and in a forked child
/// after `forget_workers`. Workers are detached and sleep through process exit.
Worker workers[kMaxWorkers];
std::atomic<uint32_t> created{0};
std::atomic_flag creating;
std::atomic<int> busy{0};  // threads that compute or may be called: callers and helpers
std::atomic<Job*> free_jobs{nullptr};

/// Registers a caller with as many helpers as the limit allows.
uint32_t enter(uint32_t wanted) {
  int now = busy.load(memory_order_relaxed), helpers = 0;
  do {
    helpers = std::clamp(num_threads() - now - 1, 0, static_cast<int>(wanted));
  } while (!busy.compare_exchange_weak(now, now + 1 + helpers, memory_order_relaxed));
  return static_cast<uint32_t>(helpers);
}

/// Adds one helper if the limit allows and the loop still runs.
bool add_helper(Job& job, uint32_t loop) {
  int now = busy.load(memory_order_relaxed);
  do {
    if (now >= num_threads()) return false;
  } while (!busy.compare_exchange_weak(now, now + 1, memory_order_relaxed));
  uint64_t helpers = job.helpers.load(memory_order_relaxed);
  while (loop_of(helpers) == loop)
    if (job.helpers.compare_exchange_weak(helpers, helpers + 1, memory_order_relaxed)) return true;
  busy.fetch_sub(1, memory_order_relaxed);
  return false;
}

/// Removes a helper and returns true if there are too many callers or the limit was lowered.
bool leave_if_crowded(Job& job, uint32_t loop) {
  int now = busy.load(memory_order_relaxed);
  do {
    if (now <= num_threads()) return false;
  } while (!busy.compare_exchange_weak(now, now - 1, memory_order_relaxed));
  uint64_t helpers = job.helpers.load(memory_order_relaxed);
  while (loop_of(helpers) == loop)
    if (job.helpers.compare_exchange_weak(helpers, helpers - 1, memory_order_relaxed)) return true;
  busy.fetch_add(1, memory_order_relaxed);  // the loop is over, its caller has subtracted all helpers
  return true;
}

void work_on(Job& job, uint32_t loop, Span span, bool as_caller);

[[noreturn]] void run_worker(uint32_t index) {
  Worker& self = workers[index];
  const SerialScope inner_loops;
  const auto is_called = [&] { return self.signal.load(memory_order_acquire) == Worker::called; };
  while (true) {
    work_on(*self.job, self.loop, self.span, false);
    self.signal.store(Worker::idle, memory_order_release);
    if (soon(is_called)) continue;
    int signal = Worker::idle;
    if (self.signal.compare_exchange_strong(signal, Worker::asleep, memory_order_acq_rel))
      self.signal.wait(Worker::asleep, memory_order_acquire);
    while (!is_called()) relax();  // the thread that claimed this worker is writing the assignment
  }
}

/// Starts a worker with this assignment, unless the maximum is reached or thread creation fails.
bool create_worker(Job& job, uint32_t loop, Span span) {
  if (creating.test_and_set(memory_order_acquire)) return false;
  const uint32_t index = created.load(memory_order_relaxed);
  bool started = false;
  if (index < kMaxWorkers && static_cast<int64_t>(index) < num_threads() - 1) {
    Worker& worker = workers[index];
    worker.signal.store(Worker::called, memory_order_relaxed);
    worker.job = &job;
    worker.loop = loop;
    worker.span = span;
    sigset_t all, before;  // signals are handled by the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread(run_worker, index).detach();
      created.store(index + 1, memory_order_release);
      started = true;
    } catch (const std::exception&) {  // no more threads or memory; the others do the work
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  creating.clear(memory_order_release);
  return started;
}

/// Calls a worker in this state, the preferred one if possible.
bool call(Worker::Signal state, uint32_t preferred, Job& job, uint32_t loop, Span span) {
  const uint32_t count = created.load(memory_order_acquire);
  for (uint32_t k = 0; k < count; ++k) {
    Worker& worker = workers[(preferred + k) % count];
    int signal = state;
    if (worker.signal.load(memory_order_relaxed) != signal ||
        !worker.signal.compare_exchange_strong(signal, Worker::taken, memory_order_acq_rel))
      continue;
    worker.job = &job;
    worker.loop = loop;
    worker.span = span;
    worker.signal.store(Worker::called, memory_order_release);
    if (state == Worker::asleep) worker.signal.notify_one();
    return true;
  }
  return false;
}

/// Hands the second half of the span to another thread, if one is awake or worth waking.
bool share(Job& job, uint32_t loop, Span& span, bool worth_waking) {
  if (span.helpers == 0) {
    if (!add_helper(job, loop)) return false;
    span.helpers = 1;
  }
  const uint32_t middle = span.first + (span.size() + 1) / 2, others = span.helpers - 1;
  const Span half{middle, span.end, std::min(span.end - middle - 1, others - others / 2), span.parts};
  // The same worker for the same part of every loop: the caller has the first, worker w has part w + 1 of
  // num_threads().
  const auto preferred =
      static_cast<uint32_t>(uint64_t{middle} * static_cast<uint32_t>(num_threads()) / span.parts) - 1;
  if (!call(Worker::idle, preferred, job, loop, half) &&
      !(worth_waking && (call(Worker::asleep, preferred, job, loop, half) || create_worker(job, loop, half))))
    return false;
  span = {span.first, middle, others - half.helpers, span.parts};
  return true;
}

/// Takes chunks until none is left, those of the span first.
void work_on(Job& job, uint32_t loop, Span span, bool as_caller) {
  const uint32_t parts = span.parts;
  uint32_t finished = 0, chunks = 0;
  const auto report = [&] {
    if (finished == 0) return;
    if (job.done.fetch_add(finished, memory_order_acq_rel) + finished == chunks && !as_caller)
      job.done.notify_one();
    finished = 0;
  };
  nanoseconds expected = kUsualChunk;
  uint32_t part = span.first;
  for (uint32_t seen = 0; seen < parts;) {
    std::atomic<uint64_t>& count = job.part[part].left;
    uint64_t left = count.load(memory_order_acquire);
    if (loop_of(left) != loop || value_of(left) == 0) {
      report();
      ++seen;
      if (++part == parts) part = 0;
      if (span.size() > 0) ++span.first;
      continue;
    }
    if (!as_caller && leave_if_crowded(job, loop)) break;
    const int64_t first = job.first.load(memory_order_relaxed), end = job.end.load(memory_order_relaxed);
    const int64_t grain = job.grain.load(memory_order_relaxed);
    chunks = job.chunks.load(memory_order_relaxed);
    const ChunkBody body = job.body.load(memory_order_relaxed);
    void* const context = job.context.load(memory_order_relaxed);
    if (!count.compare_exchange_weak(left, left - 1, memory_order_acq_rel, memory_order_relaxed)) continue;
    // The loop cannot end between here and the report.
    while (span.size() > 1) {
      const uint32_t rest = value_of(left) + (span.size() - 1) * (chunks / parts);
      if (!share(job, loop, span, rest * expected >= kWorthWaking)) break;
    }
    const auto start = steady_clock::now();
    const int64_t begin = first + (int64_t{chunks} * (part + 1) / parts - value_of(left)) * grain;
    try {
      body(context, begin, begin + std::min(grain, end - begin));
    } catch (...) {
      const std::lock_guard lock(job.mutex);
      if (!job.error || begin < job.error_at) {
        job.error = std::current_exception();
        job.error_at = begin;
      }
    }
    expected = steady_clock::now() - start;
    ++finished;
  }
  report();
}

/// The job slot of a thread, from its first loop until the thread ends.
class OwnJob {
 public:
  OwnJob() = default;
  ~OwnJob() {
    if (job_ != nullptr) give_back(job_);
  }
  OwnJob(const OwnJob&) = delete;
  OwnJob& operator=(const OwnJob&) = delete;
  Job& get() {
    if (job_ == nullptr) job_ = take();
    return *job_;
  }
  void forget() { job_ = nullptr; }

 private:
  static Job* take() {
    Job* const first = free_jobs.exchange(nullptr, memory_order_acquire);
    if (first == nullptr) return new Job;
    for (Job* rest = first->next_free; rest != nullptr;) give_back(std::exchange(rest, rest->next_free));
    return first;
  }
  static void give_back(Job* job) {
    job->next_free = free_jobs.load(memory_order_relaxed);
    while (
        !free_jobs.compare_exchange_weak(job->next_free, job, memory_order_release, memory_order_relaxed)) {
    }
  }

  Job* job_ = nullptr;
};

thread_local OwnJob own_job;

/// A forked child has only the forking thread, so it starts with no workers.
void forget_workers() {
  created.store(0, memory_order_relaxed);
  creating.clear(memory_order_relaxed);
  busy.store(0, memory_order_relaxed);
  free_jobs.store(nullptr, memory_order_relaxed);
  own_job.forget();
}

void run_job(int64_t first, int64_t end, int64_t grain, uint32_t chunks, ChunkBody body, void* context) {
  [[maybe_unused]] static const int handler = pthread_atfork(nullptr, nullptr, forget_workers);
  Job& job = own_job.get();
  const uint32_t loop = ++job.loop;
  const uint32_t parts = std::min({chunks, static_cast<uint32_t>(num_threads()), kMaxParts});
  job.first.store(first, memory_order_relaxed);
  job.end.store(end, memory_order_relaxed);
  job.grain.store(grain, memory_order_relaxed);
  job.chunks.store(chunks, memory_order_relaxed);
  job.body.store(body, memory_order_relaxed);
  job.context.store(context, memory_order_relaxed);
  job.done.store(0, memory_order_relaxed);
  const uint32_t helpers = enter(parts - 1);
  job.helpers.store(tagged(loop, helpers), memory_order_relaxed);
  const auto end_of = [&](uint32_t part) { return static_cast<uint32_t>(uint64_t{chunks} * part / parts); };
  for (uint32_t part = 0; part < parts; ++part)
    job.part[part].left.store(tagged(loop, end_of(part + 1) - end_of(part)), memory_order_release);
  work_on(job, loop, {0, parts, helpers, parts}, true);
  uint32_t done = 0;
  const auto is_done = [&] { return (done = job.done.load(memory_order_acquire)) == chunks; };
  if (!soon(is_done))
    while (!is_done()) job.done.wait(done, memory_order_acquire);
  const uint64_t counted = job.helpers.exchange(tagged(loop + 1, 0), memory_order_relaxed);
  busy.fetch_sub(1 + static_cast<int>(value_of(counted)), memory_order_relaxed);
  if (job.error) std::rethrow_exception(std::exchange(job.error, nullptr));
}

}  // namespace

void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context) {
  const int64_t chunks = n / grain + (n % grain != 0);
  for (int64_t first = 0; first < chunks; first += kMaxChunks) {
    const int64_t count = std::min(kMaxChunks, chunks - first);
    run_job(first * grain, n, grain, static_cast<uint32_t>(count), body, context);
  }
}

}  // namespace adj::detail
