#pragma once

#include <adjoint/core/capture.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <utility>

namespace adj {

namespace detail {

class Carrier;

/// Access to `T carried_to(Carrier&) const`, which is private in public classes. Called by Carrier::carry()
/// (core/detail/carrier.h).
struct CarrierAccess {
  template <class T>
  static auto carried(const T& structure, Carrier& carrier) -> decltype(structure.carried_to(carrier)) {
    return structure.carried_to(carrier);
  }
};

/// Types that can be copied to another device together with their source object.
template <class T>
concept Carriable = requires(const T& structure, Carrier& carrier) {
  { CarrierAccess::carried(structure, carrier) } -> std::same_as<T>;
};

/// Runs a function once. Concurrent callers wait for its result. The function may request other objects;
/// requesting its own is an error instead of a deadlock. If it throws, the next caller runs it again.
class MakeOnce {
 public:
  bool done() const { return done_.load(std::memory_order_acquire); }
  void set_done() { done_.store(true, std::memory_order_release); }

  template <class Make>
  void run(Make&& make) {
    if (done()) return;
    check_maker();
    const std::lock_guard lock(mutex_);
    if (done()) return;
    const Maker maker(maker_);
    {
      // Every lazily made object is made here.
      std::optional<OutsideCapture> for_all_steps;
      if (const Recorder* step = recorder(); step == nullptr || !step->derives()) for_all_steps.emplace();
      std::forward<Make>(make)();
    }
    set_done();
  }

 private:
  class Maker {
   public:
    explicit Maker(std::atomic<const char*>& maker) : maker_(maker) {
      maker_.store(&this_thread, std::memory_order_relaxed);
    }
    ~Maker() { maker_.store(nullptr, std::memory_order_relaxed); }
    Maker(const Maker&) = delete;
    Maker& operator=(const Maker&) = delete;

   private:
    std::atomic<const char*>& maker_;
  };

  /// Throws if this thread is the maker.
  void check_maker() const;

  std::mutex mutex_;
  std::atomic<bool> done_ = false;
  std::atomic<const char*> maker_ = nullptr;
  static inline thread_local char this_thread = 0;  // its address identifies the thread
};

}  // namespace detail

/// One lazily made object: made by the first thread that asks, shared by all. Makers may request other lazy
/// objects.
template <class T>
class Lazy {
 public:
  Lazy() = default;
  explicit Lazy(T value) : value_(std::move(value)) { once_.set_done(); }

  /// The object, which `make()` returns at the first call. If it throws, the next call tries again.
  template <class Make>
  const T& get(Make&& make) const {
    once_.run([&] { value_.emplace(make()); });
    return *value_;
  }
  /// Null if not made yet.
  const T* if_made() const { return once_.done() ? &*value_ : nullptr; }
  /// Only before any get(), and before other threads can see it.
  void put(T value) {
    value_.emplace(std::move(value));
    once_.set_done();
  }

 private:
  mutable detail::MakeOnce once_;
  mutable std::optional<T> value_;
};

/// Cache of structures derived from one immutable object, keyed by type and an optional parameter: degree
/// buckets, tiles of 16 rows, a kernel's plan for a width. Each is made once, by the first thread that asks;
/// threads that ask for different entries do not wait for each other.
class KeyedCache {
 public:
  KeyedCache();
  ~KeyedCache();

  /// The T cached under (T, parameter), made by `make()`, which returns an owned `T*` or a smart pointer.
  template <class T, class Make>
  std::shared_ptr<T> get(int64_t parameter, Make&& make) {
    const std::shared_ptr<Slot> slot = slot_of(typeid(T), parameter);
    slot->once.run([&] {
      slot->value = std::shared_ptr<T>(make());
      if constexpr (detail::Carriable<T>)
        slot->carry = [](const void* value, detail::Carrier& carrier) -> std::shared_ptr<void> {
          return std::make_shared<T>(detail::CarrierAccess::carried(*static_cast<const T*>(value), carrier));
        };
    });
    return std::static_pointer_cast<T>(slot->value);
  }
  template <class T, class Make>
  std::shared_ptr<T> get(Make&& make) {
    return get<T>(0, std::forward<Make>(make));
  }
  /// The T cached under (T, parameter); null if not made yet.
  template <class T>
  std::shared_ptr<T> find(int64_t parameter) {
    const std::shared_ptr<Slot> slot = slot_of(typeid(T), parameter);
    return slot->once.done() ? std::static_pointer_cast<T>(slot->value) : nullptr;
  }
  /// Caches `value` under (T, parameter), without the synchronization of get(). Only before other threads use
  /// the cache.
  template <class T>
  void put(int64_t parameter, T value) {
    const std::shared_ptr<Slot> slot = slot_of(typeid(T), parameter);
    slot->value = std::make_shared<T>(std::move(value));
    slot->once.set_done();
  }
  /// Copies all carriable entries made so far to the device of `carrier`, into `other`. No other thread may
  /// use `other` yet.
  void carry_to(detail::Carrier& carrier, KeyedCache& other);

 private:
  struct Slot {
    detail::MakeOnce once;        ///< makes the value
    std::shared_ptr<void> value;  ///< a T; null until made
    /// Copies the value to another device; null: it stays.
    std::shared_ptr<void> (*carry)(const void* value, detail::Carrier& carrier) = nullptr;
  };
  struct Slots;

  std::shared_ptr<Slot> slot_of(const std::type_info& type, int64_t parameter);

  std::unique_ptr<Slots> slots_;
};

}  // namespace adj
