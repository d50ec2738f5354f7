// Caching allocator, the same for every device. Segments come from the device runtime and are split into
// chunks; a freed chunk merges with its free neighbours and is kept for reuse. A segment and its chunks
// belong to one stream of the device. Work of a stream runs in order, so a chunk can be reused on its stream
// as soon as the host frees it. A chunk that other streams used too is parked until the device has passed the
// events that are recorded in those streams when it is freed.
//
// On the CPU, cached memory is capped: entirely free segments are released, least recently used first. The
// cap follows the recent live peak, so that a training step finds what the previous one freed. A request
// never takes a block of more than twice its size, since it would hold all of it.
#include <adjoint/core/allocator.h>
#include <adjoint/core/profile.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace adj {

namespace detail {

struct Chunk {
  char* data = nullptr;
  size_t bytes = 0;
  bool in_use = false;
  bool small = false;
  int stream = 0;
  uint64_t used_on = 0;       // other streams that must finish before reuse, once it is freed
  uint64_t freed = 0;         // time of the free, for a free segment
  Chunk* previous = nullptr;  // neighbours in the same segment
  Chunk* next = nullptr;
  MemoryPool* pool = nullptr;
  std::shared_ptr<MemoryPool> keep_alive = nullptr;  // set while in use
};

namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kSmallLimit = size_t{1} << 20;  // requests up to this size share segments of kSmallSegment
constexpr size_t kSmallSegment = size_t{2} << 20;
constexpr size_t kMediumLimit = size_t{10} << 20;  // requests up to this size share segments of
                                                   // kMediumSegment
constexpr size_t kMediumSegment = size_t{20} << 20;
constexpr size_t kGranularity = size_t{2} << 20;

constexpr size_t kCpuCache = size_t{256} << 20;  // cap of the cache whatever the live peak
constexpr uint64_t kLately = 2048;               // in requests: more than a training step makes

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Orders chunks by stream, then by size.
struct BySize {
  bool operator()(const Chunk* a, const Chunk* b) const {
    return std::tuple(a->stream, a->bytes, a->data) < std::tuple(b->stream, b->bytes, b->data);
  }
};

thread_local const AllocationScope* current_scope = nullptr;

}  // namespace
}  // namespace detail

using detail::Chunk;

namespace {

/// A freed chunk and the pending events, each with its stream.
struct Parked {
  Chunk* chunk;
  std::vector<std::pair<int, void*>> marks;
};

/// Parked chunks are checked every this many requests, even if memory is available without them.
constexpr uint64_t kSettled = 128;

struct DeviceTotals {
  std::mutex mutex;  // also guards the pools and chunks of the device
  MemoryStats stats;
  std::vector<MemoryPool*> pools;
  std::vector<Parked> parked;  // in the order they were freed
  /// Live peak in the current window of kLately requests, and in the previous one.
  size_t peak = 0, peak_before = 0;

  void count_request() {
    stats.peak = std::max(stats.peak, stats.current);
    peak = std::max(peak, stats.current);
    if (++stats.allocations % detail::kLately == 0) peak_before = std::exchange(peak, stats.current);
  }
  /// Maximum cached bytes on a CPU.
  size_t cap() const { return std::max(detail::kCpuCache, std::max(peak, peak_before) / 2 * 3); }
};

using Owners = std::vector<std::shared_ptr<MemoryPool>>;

DeviceTotals& totals(Device device) {
  // Never destroyed: tensors with static storage may outlive it.
  static auto* map = new std::map<std::pair<int, int>, DeviceTotals>;
  static auto* mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  return (*map)[{static_cast<int>(device.kind), device.index}];
}

}  // namespace

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// A lasting pool keeps its segments, free or not, until it dies: a captured graph still uses them.
  MemoryPool(Device device, bool lasting) : device_(device), lasting_(lasting), totals_(totals(device)) {
    const std::lock_guard lock(totals_.mutex);
    totals_.pools.push_back(this);
  }
  ~MemoryPool() {
    Owners owners;  // pools that may die with their chunks, after the lock is released
    const std::lock_guard lock(totals_.mutex);
    for (Chunk* chunk : adopted_) free_chunk(chunk, owners);
    trim();
    std::erase(totals_.pools, this);
  }
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  Device device() const { return device_; }
  DeviceTotals& device_totals() { return totals_; }

  /// Null if neither the cache nor the device has the bytes.
  Chunk* take(size_t bytes, Owners& owners) {
    const bool small = bytes <= detail::kSmallLimit;
    // Querying events costs more than all else here, so not every request does it.
    if (totals_.stats.allocations % kSettled == 0) settle(totals_, device_, /*wait=*/false, owners);
    Chunk* chunk = from_cache(bytes, small);
    if (chunk == nullptr && settle(totals_, device_, /*wait=*/false, owners))
      chunk = from_cache(bytes, small);
    if (chunk == nullptr) chunk = from_device(bytes, small);
    if (chunk == nullptr) chunk = from_cache(bytes, small, /*of_any_size=*/true);
    if (chunk == nullptr) return nullptr;
    split(chunk, bytes);
    chunk->in_use = true;
    chunk->keep_alive = shared_from_this();
    ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->bytes);
    totals_.stats.current += chunk->bytes;
    totals_.count_request();
    return chunk;
  }

  /// For a chunk of any pool: parks it, or puts it back and moves its pool into `owners`, to be released
  /// after the lock.
  static void free_chunk(Chunk* chunk, Owners& owners);
  /// Puts back the parked chunks whose events have passed; with `wait`, all of them. False if there were
  /// none.
  static bool settle(DeviceTotals& totals, Device device, bool wait, Owners& owners);

  void put_back(Chunk* chunk) {
    totals_.stats.current -= chunk->bytes;
    chunk->in_use = false;
    ASAN_POISON_MEMORY_REGION(chunk->data, chunk->bytes);
    if (Chunk* next = chunk->next; next != nullptr && !next->in_use) {
      free_[chunk->small].erase(next);
      absorb(chunk, next);
    }
    if (Chunk* previous = chunk->previous; previous != nullptr && !previous->in_use) {
      free_[chunk->small].erase(previous);
      absorb(previous, chunk);
      chunk = previous;
    }
    free_[chunk->small].insert(chunk);
    if (!is_segment(chunk)) return;
    chunk->freed = ++clock_;
    free_segments_.emplace(chunk->freed, chunk);
    if (device_.is_cuda() || lasting_) return;
    while (!free_segments_.empty() && totals_.stats.reserved - totals_.stats.current > totals_.cap())
      give_back(free_segments_.begin()->second);
  }

  /// Keeps a chunk of another pool, freed while this one was in scope, until this one dies: earlier captured
  /// work and replays on this pool's stream still use it.
  void adopt(Chunk* chunk) {
    if (stream_ != chunk->stream) chunk->used_on |= uint64_t{1} << stream_;
    adopted_.push_back(chunk);
  }

  bool lasting() const { return lasting_; }
  /// Returns entirely free segments to the device.
  void trim() {
    while (!free_segments_.empty()) give_back(free_segments_.begin()->second);
  }

  size_t largest_free() const {
    size_t largest = 0;
    for (const auto& set : free_)
      for (const Chunk* chunk : set) largest = std::max(largest, chunk->bytes);
    return largest;
  }

 private:
  static bool is_segment(const Chunk* chunk) { return chunk->previous == nullptr && chunk->next == nullptr; }

  void remove_free(Chunk* chunk) {
    free_[chunk->small].erase(chunk);
    if (is_segment(chunk)) free_segments_.erase(chunk->freed);
  }

  void give_back(Chunk* segment) {
    remove_free(segment);
    totals_.stats.reserved -= segment->bytes;
    ASAN_UNPOISON_MEMORY_REGION(segment->data, segment->bytes);
    runtime(device_).release(segment->data, segment->bytes);
    delete segment;
  }

  Chunk* from_cache(size_t bytes, bool small, bool of_any_size = false) {
    Chunk key;
    key.stream = detail::current_stream(device_);
    key.bytes = bytes;
    const auto it = free_[small].lower_bound(&key);
    if (it == free_[small].end() || (*it)->stream != key.stream) return nullptr;
    Chunk* chunk = *it;
    const bool wasteful = chunk->bytes > detail::kMediumSegment && chunk->bytes / 2 > bytes;
    if (wasteful && device_.is_cpu() && !of_any_size) return nullptr;
    remove_free(chunk);
    return chunk;
  }

  Chunk* from_device(size_t bytes, bool small) {
    const size_t segment = small                          ? detail::kSmallSegment
                           : bytes < detail::kMediumLimit ? detail::kMediumSegment
                                                          : detail::round_up(bytes, detail::kGranularity);
    void* memory = runtime(device_).allocate(segment);
    ++totals_.stats.device_calls;
    if (memory == nullptr) {
      for (MemoryPool* pool : totals_.pools)
        if (!pool->lasting()) pool->trim();
      memory = runtime(device_).allocate(segment);
      if (memory == nullptr) return nullptr;
    }
    totals_.stats.reserved += segment;
    ASAN_POISON_MEMORY_REGION(memory, segment);
    const int stream = detail::current_stream(device_);
    return new Chunk{.data = static_cast<char*>(memory),
                     .bytes = segment,
                     .small = small,
                     .stream = stream,
                     .pool = this,
                     .keep_alive = {}};
  }

  void split(Chunk* chunk, size_t bytes) {
    const size_t rest = chunk->bytes - bytes;
    if (rest < (chunk->small ? detail::kAlignment : detail::kSmallLimit)) return;
    auto* tail = new Chunk{.data = chunk->data + bytes,
                           .bytes = rest,
                           .small = chunk->small,
                           .stream = chunk->stream,
                           .previous = chunk,
                           .next = chunk->next,
                           .pool = this,
                           .keep_alive = {}};
    if (tail->next != nullptr) tail->next->previous = tail;
    chunk->next = tail;
    chunk->bytes = bytes;
    free_[chunk->small].insert(tail);
  }

  static void absorb(Chunk* chunk, Chunk* next) {
    chunk->bytes += next->bytes;
    chunk->next = next->next;
    if (chunk->next != nullptr) chunk->next->previous = chunk;
    delete next;
  }

  Device device_;
  bool lasting_;
  int stream_ = detail::current_stream(device_);  // current at construction
  DeviceTotals& totals_;
  std::vector<Chunk*> adopted_;
  std::set<Chunk*, detail::BySize> free_[2];  // [small]
  std::map<uint64_t, Chunk*> free_segments_;  // the free ones that are entire segments, by Chunk::freed
  uint64_t clock_ = 0;
};

void MemoryPool::free_chunk(Chunk* chunk, Owners& owners) {
  MemoryPool& pool = *chunk->pool;
  std::vector<std::pair<int, void*>> marks;
  for (int stream = 0; chunk->used_on >> stream != 0; ++stream) {
    if ((chunk->used_on >> stream & 1) == 0) continue;
    if (void* mark = runtime(pool.device_).mark(stream); mark != nullptr) marks.emplace_back(stream, mark);
  }
  chunk->used_on = 0;
  if (!marks.empty()) {
    pool.totals_.parked.push_back({chunk, std::move(marks)});
    return;
  }
  owners.push_back(std::move(chunk->keep_alive));
  pool.put_back(chunk);
}

bool MemoryPool::settle(DeviceTotals& totals, Device device, bool wait, Owners& owners) {
  if (totals.parked.empty()) return false;
  DeviceRuntime& device_runtime = runtime(device);
  // A stream passes its events in order: once one is pending, later ones are not queried.
  uint64_t behind = 0;
  const auto passed = [&](const std::pair<int, void*>& mark) {
    const uint64_t stream = uint64_t{1} << mark.first;
    if ((behind & stream) != 0) return false;
    if (device_runtime.passed(mark.second, wait)) return true;
    behind |= stream;
    return false;
  };
  std::erase_if(totals.parked, [&](Parked& parked) {
    std::erase_if(parked.marks, passed);
    if (!parked.marks.empty()) return false;
    owners.push_back(std::move(parked.chunk->keep_alive));
    owners.back()->put_back(parked.chunk);
    return true;
  });
  return true;
}

namespace {

/// Asked for every tensor: no lock that the threads of all devices would wait for.
const std::shared_ptr<MemoryPool>& default_pool(Device device) {
  struct Slot {
    std::once_flag once;
    std::shared_ptr<MemoryPool> pool;
  };
  static auto* slots = new std::array<Slot, detail::kMaxDevices + 1>;  // the last is the CPU's
  const int index = device.is_cpu() ? detail::kMaxDevices : device.index;
  if (index < 0 || (index >= detail::kMaxDevices && !device.is_cpu())) (void)runtime(device);  // throws
  Slot& slot = slots->at(static_cast<size_t>(index));
  std::call_once(slot.once, [&] { slot.pool = std::make_shared<MemoryPool>(device, /*lasting=*/false); });
  return slot.pool;
}

thread_local std::shared_ptr<MemoryPool> scoped_pool;

std::string in_mib(size_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

}  // namespace

std::shared_ptr<MemoryPool> make_memory_pool(Device device) {
  return std::make_shared<MemoryPool>(device, /*lasting=*/true);
}

MemoryPoolScope::MemoryPoolScope(std::shared_ptr<MemoryPool> pool)
    : outer_(std::exchange(scoped_pool, std::move(pool))) {}
MemoryPoolScope::~MemoryPoolScope() { scoped_pool = std::move(outer_); }

AllocationScope::AllocationScope(const char* name, Inputs inputs, const void* object)
    : outer_(std::exchange(detail::current_scope, this)), name_(name), inputs_(inputs), object_(object) {
  if (profiling()) detail::begin_span(this, name, detail::SpanKind::op);
}
AllocationScope::~AllocationScope() {
  if (profiling()) detail::end_span(this);
  detail::current_scope = outer_;
}

const char* AllocationScope::name() {
  return detail::current_scope == nullptr ? nullptr : detail::current_scope->name_;
}

std::string AllocationScope::current() {
  const AllocationScope* scope = detail::current_scope;
  if (scope == nullptr) return "tensor";
  return scope->inputs_ == nullptr ? scope->name_
                                   : fmt::format("{}({})", scope->name_, scope->inputs_(scope->object_));
}

MemoryStats memory_stats(Device device) {
  auto& device_totals = totals(device);
  Owners owners;
  const std::lock_guard lock(device_totals.mutex);
  MemoryPool::settle(device_totals, device, /*wait=*/false, owners);
  MemoryStats stats = device_totals.stats;
  for (MemoryPool* pool : device_totals.pools)
    stats.largest_free = std::max(stats.largest_free, pool->largest_free());
  return stats;
}

void reset_peak_memory(Device device) {
  auto& device_totals = totals(device);
  const std::lock_guard lock(device_totals.mutex);
  device_totals.stats.peak = device_totals.stats.current;
}

void empty_cache(Device device) {
  if (device.is_cuda()) synchronize(device);
  auto& device_totals = totals(device);
  Owners owners;
  const std::lock_guard lock(device_totals.mutex);
  MemoryPool::settle(device_totals, device, /*wait=*/true, owners);
  for (MemoryPool* pool : device_totals.pools)
    if (!pool->lasting()) pool->trim();
}

namespace detail {

Chunk* allocate(Device device, size_t bytes, const Shape& shape, DType dtype) {
  const bool scoped = scoped_pool && scoped_pool->device() == device;
  const std::shared_ptr<MemoryPool> pool = scoped ? scoped_pool : default_pool(device);
  const size_t rounded = round_up(std::max<size_t>(bytes, 1), kAlignment);
  auto& device_totals = pool->device_totals();
  Chunk* chunk = nullptr;
  MemoryStats stats;
  {
    Owners owners;
    const std::lock_guard lock(device_totals.mutex);
    chunk = pool->take(rounded, owners);
    if (chunk == nullptr && MemoryPool::settle(device_totals, device, /*wait=*/true, owners))
      chunk = pool->take(rounded, owners);
    stats = device_totals.stats;
  }
  if (chunk != nullptr) {
    if (profiling()) profile_allocation(rounded, stats.current);
    return chunk;
  }
  size_t free_bytes = 0, total_bytes = 0;
  runtime(device).memory_info(&free_bytes, &total_bytes);
  throw OutOfMemory(fmt::format(
      "out of memory on {}: {} {} {} needs {}; {} are held in tensors, {} reserved, {} of {} free on the "
      "device; "
      "fewer hidden units or layers, or a smaller graph would help",
      device.str(), AllocationScope::current(), shape.str(), name_of(dtype), in_mib(bytes),
      in_mib(stats.current), in_mib(stats.reserved), in_mib(free_bytes), in_mib(total_bytes)));
}

void* address_of(const Chunk* chunk) { return chunk->data; }

int stream_of(const Chunk* chunk) { return chunk->stream; }

void release(Chunk* chunk, uint64_t used_on) {
  Owners owners;  // a pool may die with its last chunk, but only after the device lock is released
  auto& device_totals = chunk->keep_alive->device_totals();
  const std::lock_guard lock(device_totals.mutex);
  chunk->used_on = used_on;
  if (scoped_pool && scoped_pool != chunk->keep_alive &&
      scoped_pool->device() == chunk->keep_alive->device()) {
    scoped_pool->adopt(chunk);
    return;
  }
  MemoryPool::free_chunk(chunk, owners);
}

}  // namespace detail

}  // namespace adj
