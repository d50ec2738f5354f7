#pragma once

#include <adjoint/core/stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace adj {

struct PrefetchOptions {
  int workers = 1;     ///< threads that make items; 0: each is made by the caller when it is asked for
  int ahead = 2;       ///< items a worker that are made and not yet taken, at most
  Device device = {};  ///< where the items' tensors are made
};

namespace detail {

/// What Prefetcher does of items of any type.
class PrefetchQueue {
 public:
  /// make(i) leaves item i in the slot i modulo capacity(options), which is free by then.
  PrefetchQueue(int64_t count, const PrefetchOptions& options, std::function<void(int64_t)> make);
  ~PrefetchQueue();
  PrefetchQueue(const PrefetchQueue&) = delete;
  PrefetchQueue& operator=(const PrefetchQueue&) = delete;

  /// Items that are made and not yet taken, at most. Throws where the options are out of range.
  static int64_t capacity(const PrefetchOptions& options);
  /// The number of the next item, once it is made; -1 after the last. What its making threw is thrown here.
  int64_t wait();
  /// The item that wait() gave was moved out of its slot, which may be filled again.
  void taken();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail

/// Items 0 … count - 1, made ahead by worker threads and handed out in order: the mini-batches of an epoch.
/// What an item is depends on its number alone, never on the thread that makes it.
///
/// Parallel loops of a worker run on that worker alone, where there are several. On a GPU every item is made
/// on a stream of its own, beside the caller's work, which waits for it on the device when the item is taken;
/// the host does not wait. At most workers * ahead items wait at a time. What make(i) throws is thrown by
/// next() in the place of item i, after which there are no more items. Ends the workers when it goes,
/// whatever was not taken.
template <class T>
class Prefetcher {
 public:
  Prefetcher(int64_t count, std::function<T(int64_t)> make, const PrefetchOptions& options = {})
      : slots_(std::make_shared<Slots>(static_cast<size_t>(detail::PrefetchQueue::capacity(options)))),
        queue_(std::make_unique<detail::PrefetchQueue>(count, options,
                                                       [slots = slots_, make = std::move(make)](int64_t i) {
                                                         T item = make(i);
                                                         slots->at(i) = std::move(item);
                                                       })) {}

  /// Absent after the last one.
  std::optional<T> next() {
    const int64_t i = queue_->wait();
    if (i < 0) return {};
    std::optional<T> item = std::exchange(slots_->at(i), std::nullopt);
    queue_->taken();
    return item;
  }

  /// For range-based loops, once: what was taken is gone.
  class Iterator {
   public:
    Iterator() = default;
    explicit Iterator(Prefetcher* owner) : owner_(owner), item_(owner->next()) {}
    T& operator*() { return *item_; }
    Iterator& operator++() {
      item_.reset();  // before the next one is waited for: its memory may serve for that
      item_ = owner_->next();
      return *this;
    }
    bool operator!=(const Iterator&) const { return item_.has_value(); }

   private:
    Prefetcher* owner_ = nullptr;
    std::optional<T> item_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(); }

 private:
  struct Slots {
    explicit Slots(size_t count) : items(count) {}
    std::vector<std::optional<T>> items;
    std::optional<T>& at(int64_t i) { return items[static_cast<size_t>(i) % items.size()]; }
  };
  std::shared_ptr<Slots> slots_;
  std::unique_ptr<detail::PrefetchQueue> queue_;
};

}  // namespace adj
