#pragma once

#include <adjoint/core/stream.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace adj {

/// Who makes items ahead of their use, and how many may wait.
struct PrefetchOptions {
  int workers = 0;    ///< threads; 0: the caller of next() makes each item when it asks for it
  int64_t depth = 0;  ///< items that are being made or wait, at most: what bounds memory; 0: two a worker
  /// On a GPU: worker w's work goes to streams[w], beside what the caller computes. Begins with what the
  /// caller's stream has queued when the Prefetcher is made. Empty: to the device's default stream.
  std::vector<Stream> streams = {};
};

/// The streams of so many workers on a device; none on the CPU. To be made once for all epochs, for what
/// kernels keep they keep by stream.
std::vector<Stream> worker_streams(Device device, int workers);

namespace detail {

/// A Prefetcher of anything.
class PrefetchQueue {
 public:
  using Item = std::shared_ptr<void>;
  PrefetchQueue(int64_t count, std::function<Item(int64_t)> produce, const PrefetchOptions& options);
  ~PrefetchQueue();
  PrefetchQueue(const PrefetchQueue&) = delete;
  PrefetchQueue& operator=(const PrefetchQueue&) = delete;

  int64_t count() const { return count_; }
  Item next();

 private:
  struct Workers;
  int64_t count_, next_ = 0;
  std::function<Item(int64_t)> produce_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace detail

/// The items produce(0), …, produce(count - 1), made by threads ahead of their use and handed over in order:
/// the batches of an epoch. What an item is may depend on its number alone (a generator of its own, not of
/// its thread): then it is the same for every number of workers, several of which call produce() at once.
///
///   Prefetcher<Batch> batches(100, [&](int64_t i) { return make(i); }, {.workers = 2});
///   for (const Batch& batch : batches) train(batch);
///
/// What produce(i) throws is thrown where item i would have been; those before it are handed over, and there
/// is none after it. Workers compute by the ComputeContext of the thread that makes the Prefetcher. Several
/// are each a SerialScope; one has its loops run on all threads, as the caller's are. A worker waits for its
/// stream before it hands an item over, which is therefore complete on any stream; the caller's waits for
/// nothing. Where the Prefetcher ends early, items that were begun are finished and dropped. For one
/// consumer.
template <class T>
class Prefetcher {
 public:
  Prefetcher(int64_t count, std::function<T(int64_t)> produce, const PrefetchOptions& options = {})
      : queue_(
            count, [produce = std::move(produce)](int64_t i) { return std::make_shared<T>(produce(i)); },
            options) {}

  /// How many items there are in all.
  int64_t size() const { return queue_.count(); }
  /// The next item; nothing after the last.
  std::optional<T> next() {
    const std::shared_ptr<void> item = queue_.next();
    return item ? std::optional<T>(std::move(*static_cast<T*>(item.get()))) : std::nullopt;
  }

  /// Over what is left. An item goes when the next one is asked for.
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Prefetcher& of) : of_(&of), item_(of.next()) {}
    const T& operator*() const { return *item_; }
    const T* operator->() const { return &*item_; }
    Iterator& operator++() {
      item_.reset();
      item_ = of_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !item_; }

   private:
    Prefetcher* of_;
    std::optional<T> item_;
  };
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  detail::PrefetchQueue queue_;
};

}  // namespace adj
