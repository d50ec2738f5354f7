#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/data/loader/prefetch.h>
#include <adjoint/kernels/compute_context.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace adj {

namespace {

/// Counts the workers that produce an item, and holds back others while somebody keeps it closed.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0, closed = 0;

  /// False if the worker is to end instead.
  bool enter(const std::atomic<bool>& stopped) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return closed == 0 || stopped; });
    if (stopped) return false;
    ++inside;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex);
    if (--inside == 0) changed.notify_all();
  }
  void wake() {
    const std::lock_guard lock(mutex);
    changed.notify_all();
  }
};
// Never destroyed: workers may run until the process ends.
std::atomic<Gate*> gate{new Gate};

}  // namespace

void pause_prefetching() {
  std::unique_lock lock(gate.load()->mutex);
  ++gate.load()->closed;
  gate.load()->changed.wait(lock, [] { return gate.load()->inside == 0; });
}

void resume_prefetching() {
  const std::lock_guard lock(gate.load()->mutex);
  --gate.load()->closed;
  gate.load()->changed.notify_all();
}

// Threads that the child has not may hold the lock of the old one.
void forget_prefetching() { gate = new Gate; }

std::vector<Stream> worker_streams(Device device, int workers) {
  std::vector<Stream> streams;
  if (device.is_cuda())
    for (int w = 0; w < workers; ++w) streams.push_back(Stream::make(device));
  return streams;
}

namespace detail {

// A worker takes the next free number while fewer than `depth` items are ahead of the last one returned.
// After an item that threw, later items are dropped.
struct PrefetchQueue::Workers {
  struct Made {
    Item item;
    std::exception_ptr error;
  };

  Workers(int64_t count, const std::function<Item(int64_t)>& producer, const PrefetchOptions& options)
      : produce(producer),
        end(count),
        depth(std::min<int64_t>(options.depth > 0 ? options.depth : 2 * options.workers, count)) {
    const auto wanted = static_cast<int>(std::min<int64_t>(options.workers, depth));
    threads.reserve(static_cast<size_t>(wanted));
    try {
      for (int w = 0; w < wanted; ++w) {
        std::optional<Stream> stream;
        if (!options.streams.empty()) {
          stream = options.streams[static_cast<size_t>(w)];
          stream->wait(Stream::current(stream->device()));
        }
        threads.emplace_back([this, stream, serial = wanted > 1, compute = compute_context()] {
          const ComputeScope as_maker(compute);
          work(stream, serial);
        });
      }
    } catch (const std::system_error& error) {
      stop();
      fail("prefetcher: the system refuses thread {} of {}: {}", threads.size() + 1, wanted, error.what());
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Workers() { stop(); }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      end = 0;
    }
    room.notify_all();
    stopped = true;
    gate.load()->wake();
    for (std::thread& thread : threads) thread.join();
  }

  void work(const std::optional<Stream>& stream, bool serial) {
    std::optional<SerialScope> alone;
    if (serial) alone.emplace();
    std::optional<StreamScope> stream_scope;
    if (stream) stream_scope.emplace(*stream);
    while (true) {
      int64_t i;
      {
        std::unique_lock lock(mutex);
        room.wait(lock, [&] { return taken >= end || taken < delivered + depth; });
        if (taken >= end) return;
        i = taken++;
      }
      Made result;
      if (!gate.load()->enter(stopped)) return;
      try {
        result.item = produce(i);
        if (stream) stream->synchronize();
      } catch (...) {
        result = {nullptr, std::current_exception()};
      }
      gate.load()->leave();
      const std::lock_guard lock(mutex);
      if (result.error) end = std::min(end, i + 1);
      results.emplace(i, std::move(result));
      ready.notify_one();
      if (taken >= end) room.notify_all();
    }
  }

  Item take(int64_t i) {
    Made result;
    {
      std::unique_lock lock(mutex);
      ready.wait(lock, [&] { return results.count(i) != 0; });
      result = std::move(results.at(i));
      results.erase(i);
      delivered = i + 1;
    }
    room.notify_one();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.item);
  }

  const std::function<Item(int64_t)>& produce;
  std::mutex mutex;  // guards what follows but `depth` and the threads
  std::condition_variable room, ready;
  int64_t taken = 0, delivered = 0, end;
  const int64_t depth;
  std::map<int64_t, Made> results;
  std::vector<std::thread> threads;
  std::atomic<bool> stopped{false};
  const pid_t process = getpid();
};

PrefetchQueue::PrefetchQueue(int64_t count, std::function<Item(int64_t)> produce,
                             const PrefetchOptions& options)
    : count_(count), produce_(std::move(produce)) {
  ADJ_CHECK(count >= 0, "prefetcher: {} items, expected 0 or more", count);
  ADJ_CHECK(options.workers >= 0 && options.workers <= kMaxThreads,
            "prefetcher: {} workers, expected 0 to {}", options.workers, kMaxThreads);
  ADJ_CHECK(options.depth >= 0, "prefetcher: a depth of {}, expected 0 or more", options.depth);
  ADJ_CHECK(options.streams.empty() || std::ssize(options.streams) >= options.workers,
            "prefetcher: {} streams for {} workers, expected one each", options.streams.size(),
            options.workers);
  if (options.workers > 0) workers_ = std::make_unique<Workers>(count, produce_, options);
}

bool PrefetchQueue::is_forked() const { return workers_ && workers_->process != getpid(); }

PrefetchQueue::~PrefetchQueue() {
  if (is_forked()) (void)workers_.release();  // its threads cannot be joined, nor its locks be taken
}

PrefetchQueue::Item PrefetchQueue::next() {
  ADJ_CHECK(!is_forked(),
            "prefetcher: its workers stayed in the process that this one was forked from; expected "
            "an epoch that is started after the fork");
  if (next_ == count_) return nullptr;
  const int64_t i = next_++;
  try {
    return workers_ ? workers_->take(i) : produce_(i);
  } catch (...) {
    next_ = count_;
    throw;
  }
}

}  // namespace detail

}  // namespace adj
