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

/// Worker threads and queue depth.
struct PrefetchOptions {
  int workers = 0;  ///< threads; 0: next() computes each item
  int64_t depth =
      0;  ///< maximum number of items in preparation or waiting (bounds memory); 0: two per worker
  /// On a GPU: worker w computes on streams[w], concurrently with the caller, after the work queued on the
  /// caller's stream at construction. Empty: the device's default stream.
  std::vector<Stream> streams = {};
};

/// Lets the process's workers finish their items and begin no others before resume_prefetching(): before a
/// fork, so that no lock of the library is held in the child, and before the process exits.
void pause_prefetching();
void resume_prefetching();  ///< ends one pause_prefetching()
/// In a forked child, after pause_prefetching() in the parent. Prefetchers of the parent throw there, as
/// the child lacks their threads.
void forget_prefetching();

/// Streams for `workers` workers; empty on the CPU. Create once for all epochs: kernel scratch is per stream.
std::vector<Stream> worker_streams(Device device, int workers);

namespace detail {

/// Type-erased Prefetcher.
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
  bool is_forked() const;
  int64_t count_, next_ = 0;
  std::function<Item(int64_t)> produce_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace detail

/// The items produce(0), …, produce(count - 1), computed ahead by threads and returned in order: the batches
/// of an epoch. produce() is called concurrently; its result must depend only on the number (use a generator
/// per item, not per thread), so that it is the same for any number of workers.
///
///   Prefetcher<Batch> batches(100, [&](int64_t i) { return make(i); }, {.workers = 2});
///   for (const Batch& batch : batches) train(batch);
///
/// An exception of produce(i) is rethrown by next() in place of item i, and ends the sequence. Workers use
/// the ComputeContext of the constructing thread. Several workers each run in a SerialScope; a single one
/// uses all threads. A worker synchronizes its stream before it returns an item, which is therefore complete
/// on any stream. If the Prefetcher is destroyed early, started items are finished and dropped. Single
/// consumer.
template <class T>
class Prefetcher {
 public:
  Prefetcher(int64_t count, std::function<T(int64_t)> produce, const PrefetchOptions& options = {})
      : queue_(
            count, [produce = std::move(produce)](int64_t i) { return std::make_shared<T>(produce(i)); },
            options) {}

  /// Total number of items.
  int64_t size() const { return queue_.count(); }
  /// The next item; empty after the last.
  std::optional<T> next() {
    const std::shared_ptr<void> item = queue_.next();
    return item ? std::optional<T>(std::move(*static_cast<T*>(item.get()))) : std::nullopt;
  }

  /// Over the remaining items. An item is freed when the iterator advances.
  class Iterator {
   public:
    using value_type = T;                    ///< an item
    using difference_type = std::ptrdiff_t;  ///< for std::input_iterator
    explicit Iterator(Prefetcher& prefetcher) : prefetcher_(&prefetcher), item_(prefetcher.next()) {}
    const T& operator*() const { return *item_; }    ///< the current item
    const T* operator->() const { return &*item_; }  ///< the current item
    /// Takes the next item, as next() does.
    Iterator& operator++() {
      item_.reset();
      item_ = prefetcher_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !item_; }

   private:
    Prefetcher* prefetcher_;
    std::optional<T> item_;
  };
  Iterator begin() { return Iterator(*this); }        ///< takes the next item
  std::default_sentinel_t end() const { return {}; }  ///< behind the last item

 private:
  detail::PrefetchQueue queue_;
};

}  // namespace adj
