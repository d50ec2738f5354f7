// Workers for parallel loops. A loop is a job: a place that outlives it, from which its caller and workers
// take chunks by counting one word down. Nobody holds a lock, and nobody waits for a thread that may not have
// been scheduled:
// - taking a chunk and joining a job are the same step, so a worker that arrives late finds nothing to take
//   and touches nothing of the caller's;
// - the caller takes chunks until none is left, and waits only for chunks that have been begun.
// Threads are called in one by one: whoever takes a chunk calls one more if what is left is worth it, and
// that one does the same in its turn. One that is still awake comes for any chunk; a sleeping one is woken
// only where the threads at work would take longer for the rest than waking takes. So a short loop is over
// before anybody is disturbed, and in a long one the number of threads doubles until the limit is reached.
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

constexpr uint32_t kMaxWorkers = 1024;
constexpr int64_t kMaxChunks = std::numeric_limits<int32_t>::max();  // of one job

/// How long a thread with nothing to do stays awake: about as long as the loops of a training step are apart,
/// and some times what waking takes. More would only keep the core from others.
constexpr nanoseconds kPatience{60'000};
/// Some multiple of what waking costs: 2 to 10 µs for him who wakes, 5 to 20 µs until the other one is there.
constexpr nanoseconds kWorthWaking{40'000};
/// What a chunk is taken for until one has been run.
constexpr nanoseconds kUsualChunk{10'000};

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Waits for at most kPatience.
template <class Condition>
bool soon(Condition condition) {
  const auto end = steady_clock::now() + kPatience;
  do {
    for (int round = 0; round < 16; ++round) {
      if (condition()) return true;
      relax();
    }
  } while (steady_clock::now() < end);
  return condition();
}

/// The loop that a thread is running, reused for its next one, then by other threads; never freed, since a
/// worker may look in long after. What describes the loop may be read while it changes: it counts only if
/// `state` is still the same afterwards.
struct alignas(64) Job {
  std::atomic<uint64_t> state{0};  // number of the loop << 32 | chunks that nobody has taken
  std::atomic<int64_t> first{0}, end{0}, grain{1};
  std::atomic<uint32_t> chunks{0};
  std::atomic<ChunkBody> body{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<int> threads{0};  // working on it, or called to

  alignas(64) std::atomic<uint32_t> done{0};
  std::mutex mutex;  // guards what follows
  std::exception_ptr error;
  int64_t error_at = 0;  // the chunk's begin

  Job* next_free = nullptr;
};

uint32_t left_of(uint64_t state) { return static_cast<uint32_t>(state); }

struct alignas(64) Worker {
  enum Signal : int { idle, asleep, called };
  std::atomic<int> signal{called};
  std::atomic<Job*> job{nullptr};
  std::atomic<uint32_t> next_idle{0};  // index + 1
};

/// All of it is usable before static constructors and after static destructors, and in a forked child once
/// `forget_workers` has run: nothing is constructed or destroyed. Workers are detached and sleep through the
/// end of the process.
Worker workers[kMaxWorkers];
std::atomic<uint32_t> created{0};
std::atomic_flag creating;
std::atomic<uint64_t> idle_head{0};  // changes << 32 | index + 1 of the worker that became idle last
std::atomic<int> busy{0};            // threads that compute: callers and workers
std::atomic<Job*> free_jobs{nullptr};

void push_idle(uint32_t index) {
  uint64_t head = idle_head.load(memory_order_relaxed);
  uint64_t next;
  do {
    workers[index].next_idle.store(left_of(head), memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
  } while (!idle_head.compare_exchange_weak(head, next, memory_order_release, memory_order_relaxed));
}

Worker* pop_idle() {
  uint64_t head = idle_head.load(memory_order_acquire);
  while (left_of(head) != 0) {
    Worker& worker = workers[left_of(head) - 1];
    const uint64_t next = ((head >> 32) + 1) << 32 | worker.next_idle.load(memory_order_relaxed);
    if (idle_head.compare_exchange_weak(head, next, memory_order_acq_rel, memory_order_acquire))
      return &worker;
  }
  return nullptr;
}

/// One more may compute.
bool enter() {
  int now = busy.load(memory_order_relaxed);
  const int limit = num_threads();
  while (now < limit)
    if (busy.compare_exchange_weak(now, now + 1, memory_order_relaxed)) return true;
  return false;
}

/// True, and one less computes, where callers have become too many.
bool leave_if_crowded() {
  int now = busy.load(memory_order_relaxed);
  const int limit = num_threads();
  while (now > limit)
    if (busy.compare_exchange_weak(now, now - 1, memory_order_relaxed)) return true;
  return false;
}

void work_on(Job& job, bool as_caller);

[[noreturn]] void run_worker(uint32_t index) {
  Worker& self = workers[index];
  const SerialScope inner_loops;
  while (true) {
    work_on(*self.job.load(memory_order_relaxed), false);
    self.signal.store(Worker::idle, memory_order_relaxed);
    push_idle(index);
    const auto is_called = [&] { return self.signal.load(memory_order_acquire) == Worker::called; };
    int expected = Worker::idle;
    if (soon(is_called) ||
        !self.signal.compare_exchange_strong(expected, Worker::asleep, memory_order_acq_rel))
      continue;
    while (!is_called()) self.signal.wait(Worker::asleep, memory_order_acquire);
  }
}

/// Starts a thread that begins with this job, unless there are enough or none is to be had.
bool create_worker(Job& job) {
  if (creating.test_and_set(memory_order_acquire)) return false;
  const uint32_t index = created.load(memory_order_relaxed);
  bool started = false;
  if (index < kMaxWorkers && static_cast<int64_t>(index) < num_threads() - 1) {
    workers[index].job.store(&job, memory_order_relaxed);
    sigset_t all, before;  // signals are the program's own threads' to handle
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread(run_worker, index).detach();
      created.store(index + 1, memory_order_relaxed);
      started = true;
    } catch (const std::exception&) {  // no more threads or memory to be had; the others do the work
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  creating.clear(memory_order_release);
  return started;
}

/// Calls one more thread if that is worth it for the chunks left, each of which is expected to take so long.
void call_another(Job& job, uint32_t left, nanoseconds expected) {
  const uint32_t top = left_of(idle_head.load(memory_order_acquire));
  const bool awake = top != 0 && workers[top - 1].signal.load(memory_order_relaxed) != Worker::asleep;
  if (!awake && left * expected < job.threads.load(memory_order_relaxed) * kWorthWaking) return;
  if (!enter()) return;
  job.threads.fetch_add(1, memory_order_relaxed);
  if (Worker* worker = pop_idle()) {
    worker->job.store(&job, memory_order_relaxed);
    if (worker->signal.exchange(Worker::called, memory_order_acq_rel) == Worker::asleep)
      worker->signal.notify_one();
  } else if (!create_worker(job)) {
    job.threads.fetch_sub(1, memory_order_relaxed);
    busy.fetch_sub(1, memory_order_relaxed);
  }
}

/// Takes chunks until none is left.
void work_on(Job& job, bool as_caller) {
  uint64_t state = job.state.load(memory_order_acquire);
  bool crowded = false;
  nanoseconds expected = kUsualChunk;
  while (left_of(state) > 0) {
    if (!as_caller && (crowded = leave_if_crowded())) break;
    const int64_t first = job.first.load(memory_order_relaxed), end = job.end.load(memory_order_relaxed);
    const int64_t grain = job.grain.load(memory_order_relaxed);
    const uint32_t chunks = job.chunks.load(memory_order_relaxed);
    const ChunkBody body = job.body.load(memory_order_relaxed);
    void* const context = job.context.load(memory_order_relaxed);
    if (!job.state.compare_exchange_weak(state, state - 1, memory_order_acq_rel, memory_order_acquire))
      continue;
    // From here to the count of `done` the loop cannot end.
    const uint32_t left = left_of(state) - 1;
    if (left > 0) call_another(job, left, expected);
    const auto start = steady_clock::now();
    const int64_t begin = first + (chunks - left - 1) * grain;
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
    if (job.done.fetch_add(1, memory_order_acq_rel) + 1 == chunks && !as_caller) job.done.notify_one();
    state = job.state.load(memory_order_acquire);
  }
  job.threads.fetch_sub(1, memory_order_relaxed);
  if (!crowded) busy.fetch_sub(1, memory_order_relaxed);
}

/// The job of a thread, from its first loop until it ends.
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

/// A forked child has the thread that forked alone, and begins anew.
void forget_workers() {
  created.store(0, memory_order_relaxed);
  creating.clear(memory_order_relaxed);
  idle_head.store(0, memory_order_relaxed);
  busy.store(0, memory_order_relaxed);
  free_jobs.store(nullptr, memory_order_relaxed);
  own_job.forget();
}

void run_job(int64_t first, int64_t end, int64_t grain, uint32_t chunks, ChunkBody body, void* context) {
  [[maybe_unused]] static const int handler = pthread_atfork(nullptr, nullptr, forget_workers);
  Job& job = own_job.get();
  job.first.store(first, memory_order_relaxed);
  job.end.store(end, memory_order_relaxed);
  job.grain.store(grain, memory_order_relaxed);
  job.chunks.store(chunks, memory_order_relaxed);
  job.body.store(body, memory_order_relaxed);
  job.context.store(context, memory_order_relaxed);
  job.done.store(0, memory_order_relaxed);
  busy.fetch_add(1, memory_order_relaxed);
  job.threads.fetch_add(1, memory_order_relaxed);
  job.state.store(((job.state.load(memory_order_relaxed) >> 32) + 1) << 32 | chunks, memory_order_release);
  work_on(job, true);
  uint32_t done = 0;
  const auto is_done = [&] { return (done = job.done.load(memory_order_acquire)) == chunks; };
  if (!soon(is_done))
    while (!is_done()) job.done.wait(done, memory_order_acquire);
  if (job.error) std::rethrow_exception(std::exchange(job.error, nullptr));
}

}  // namespace

void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context) {
  const int64_t chunks = n / grain + (n % grain != 0);
  for (int64_t from = 0; from < chunks; from += kMaxChunks) {
    const int64_t count = std::min(kMaxChunks, chunks - from);
    run_job(from * grain, n, grain, static_cast<uint32_t>(count), body, context);
  }
}

}  // namespace adj::detail
