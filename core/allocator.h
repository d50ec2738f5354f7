#pragma once

#include <adjoint/core/device.h>
#include <adjoint/core/dtype.h>
#include <adjoint/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace adj {

/// Memory of one device held through Adjoint, in bytes.
struct MemoryStats {
  size_t current = 0;         ///< live tensors, and freed ones still in use by another stream
  size_t peak = 0;            ///< highest `current` since the last reset
  size_t reserved = 0;        ///< taken from the device: live plus cached
  size_t largest_free = 0;    ///< largest cached block, ready for reuse
  uint64_t allocations = 0;   ///< requests served
  uint64_t device_calls = 0;  ///< requests that reached the device
  /// Share of the cached bytes outside the largest free block; 0 is unfragmented.
  double fragmentation() const {
    const size_t cached = reserved - current;
    return cached == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free) / static_cast<double>(cached);
  }
};

/// At this moment; does not wait for the device.
MemoryStats memory_stats(Device device);
void reset_peak_memory(Device device);  ///< sets `peak` to `current`
/// Returns unused cached blocks to the device; waits for all its streams. The CPU cache trims itself, least
/// recently used first, to the larger of 256 MiB and 1.5 times the recent live peak.
void empty_cache(Device device);

/// Names the current operation (an op, a metric) for out-of-memory messages and for kernels' errors. The
/// optional `inputs(object)` formats the op's inputs ("[5, 3], [3, 2]"); it is called only for out-of-memory
/// messages. Scopes nest; the innermost counts.
class AllocationScope {
 public:
  /// Formats the inputs of an op, which `object` points to.
  using Inputs = std::string (*)(const void* object);
  explicit AllocationScope(const char* name, Inputs inputs = nullptr, const void* object = nullptr);
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  /// Name of the innermost scope ("linear"); null outside of all scopes.
  static const char* name();
  /// "linear([5, 3], [3, 2])"; "tensor" outside of all scopes.
  static std::string current();

 private:
  const AllocationScope* outer_;
  const char* name_;
  Inputs inputs_;
  const void* object_;
};

/// Private memory pool of one device, which keeps its memory until it dies, so that a captured CUDA graph can
/// replay on the same addresses for as long as the pool lives.
class MemoryPool;
std::shared_ptr<MemoryPool> make_memory_pool(Device device);  ///< an empty pool
/// In this scope the thread's allocations on the pool's device come from `pool` and return to it; null: from
/// the device's shared pool. Memory of other pools that is freed in the scope waits until this pool dies.
class MemoryPoolScope {
 public:
  explicit MemoryPoolScope(std::shared_ptr<MemoryPool> pool);
  ~MemoryPoolScope();
  MemoryPoolScope(const MemoryPoolScope&) = delete;
  MemoryPoolScope& operator=(const MemoryPoolScope&) = delete;

 private:
  std::shared_ptr<MemoryPool> outer_;
};

namespace detail {
struct Chunk;
/// Allocates `bytes` of device memory from the current pool, aligned to 256 bytes. `shape` and `dtype` are
/// for the message of OutOfMemory, thrown when neither the cache nor the device has enough memory. The chunk
/// belongs to this thread's current stream (core/stream.h).
Chunk* allocate(Device device, size_t bytes, const Shape& shape, DType dtype);
void* address_of(const Chunk* chunk);
int stream_of(const Chunk* chunk);
/// Returns the chunk to its pool. Its own stream can reuse it at once (stream order). If other streams used
/// it (bit s of `used_on` for stream s), it is reused only after the work they have queued by now.
void release(Chunk* chunk, uint64_t used_on = 0);
}  // namespace detail

}  // namespace adj
