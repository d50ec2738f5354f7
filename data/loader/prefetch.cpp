#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/data/loader/prefetch.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace adj::detail {

struct PrefetchQueue::Impl {
  struct Slot {
    Stream stream;
    bool made = false;
    std::exception_ptr error;
  };

  Impl(int64_t items, const PrefetchOptions& with, std::function<void(int64_t)> how)
      : count(items), options(with), make(std::move(how)), slots(static_cast<size_t>(capacity(with))) {
    if (options.workers == 0) return;
    // What is made reads what the caller has queued so far.
    const Stream callers = Stream::current(options.device);
    for (Slot& slot : slots) {
      slot.stream = options.device.is_cuda() ? Stream::make(options.device) : callers;
      if (!(slot.stream == callers)) slot.stream.wait(callers);
    }
    const int64_t threads = std::min<int64_t>(options.workers, count);
    for (int64_t w = 0; w < threads; ++w) workers.emplace_back([this] { work(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    room.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  Slot& slot_of(int64_t i) { return slots[static_cast<size_t>(i) % slots.size()]; }

  void work() {
    std::optional<SerialScope> serial;
    if (options.workers > 1) serial.emplace();
    while (true) {
      int64_t i = 0;
      {
        std::unique_lock lock(mutex);
        room.wait(lock, [this] {
          return stopped || begun == count || begun < next + static_cast<int64_t>(slots.size());
        });
        if (stopped || begun == count) return;
        i = begun++;
      }
      Slot& slot = slot_of(i);
      std::exception_ptr error;
      try {
        const StreamScope scope(slot.stream);
        make(i);
      } catch (...) {
        error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex);
        slot.made = true;
        slot.error = error;
        if (error) stopped = true;  // nobody will ask for those after it
      }
      ready.notify_all();
      if (error) room.notify_all();
    }
  }

  const int64_t count;
  const PrefetchOptions options;
  const std::function<void(int64_t)> make;
  std::mutex mutex;
  std::condition_variable room, ready;
  std::vector<Slot> slots;
  int64_t begun = 0, next = 0;  // the first item that nobody makes yet, and that nobody has taken
  bool stopped = false, failed = false;
  std::vector<std::thread> workers;
};

int64_t PrefetchQueue::capacity(const PrefetchOptions& options) {
  ADJ_CHECK(
      options.workers >= 0 && options.workers <= kMaxThreads && options.ahead >= 1 && options.ahead <= 64,
      "prefetch: {} workers that are {} ahead, expected 0 to {} and 1 to 64", options.workers, options.ahead,
      kMaxThreads);
  return std::max<int64_t>(1, int64_t{options.workers} * options.ahead);
}

PrefetchQueue::PrefetchQueue(int64_t count, const PrefetchOptions& options, std::function<void(int64_t)> make)
    : impl_(std::make_unique<Impl>(count, options, std::move(make))) {}

PrefetchQueue::~PrefetchQueue() = default;

int64_t PrefetchQueue::wait() {
  Impl& q = *impl_;
  if (q.failed || q.next == q.count) return -1;
  if (q.options.workers == 0) {
    q.failed = true;  // unless it is made
    q.make(q.next);
    q.failed = false;
    return q.next;
  }
  Impl::Slot& slot = q.slot_of(q.next);
  std::unique_lock lock(q.mutex);
  q.ready.wait(lock, [&] { return slot.made; });
  if (slot.error) {
    q.failed = true;
    std::rethrow_exception(slot.error);
  }
  lock.unlock();
  const Stream callers = Stream::current(q.options.device);
  if (!(slot.stream == callers)) callers.wait(slot.stream);
  return q.next;
}

void PrefetchQueue::taken() {
  Impl& q = *impl_;
  {
    const std::lock_guard lock(q.mutex);
    q.slot_of(q.next).made = false;
    ++q.next;
  }
  q.room.notify_one();
}

}  // namespace adj::detail
