#pragma once

#include <adjoint/core/device.h>
#include <adjoint/core/dtype.h>
#include <adjoint/core/shape.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace adj {

/// Bytes of one device held through Adjoint.
struct MemoryStats {
  size_t current = 0;         ///< in live tensors, and in freed ones that another stream still works on
  size_t peak = 0;            ///< highest `current` since the last reset
  size_t reserved = 0;        ///< taken from the device: live and cached
  size_t largest_free = 0;    ///< the largest cached block, ready for reuse
  uint64_t allocations = 0;   ///< requests served
  uint64_t device_calls = 0;  ///< requests that had to ask the device
  /// Share of the cached bytes that do not sit in the largest free block: 0 is unfragmented.
  double fragmentation() const {
    const size_t cached = reserved - current;
    return cached == 0 ? 0.0 : 1.0 - static_cast<double>(largest_free) / static_cast<double>(cached);
  }
};

MemoryStats memory_stats(Device device);
void reset_peak_memory(Device device);
/// Gives cached blocks that nothing uses back to the device; waits for all its streams. On the CPU it happens
/// by itself, the longest unused first, to what exceeds 256 MiB and one and a half times what was lately live
/// at once.
void empty_cache(Device device);

/// Names what is at work in this scope (an op, a metric), for the out-of-memory message and for what kernels
/// refuse; `inputs(of)`, where it is given, is asked only for the former what the op was called with ("[5,
/// 3], [3, 2]"). Scopes nest, and the innermost counts.
class AllocationScope {
 public:
  using Inputs = std::string (*)(const void* of);
  explicit AllocationScope(const char* name, Inputs inputs = nullptr, const void* of = nullptr);
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  /// The innermost one's ("linear"); null outside of all scopes.
  static const char* name();
  /// "linear([5, 3], [3, 2])"; "tensor" outside of all scopes.
  static std::string current();

 private:
  const AllocationScope* outer_;
  const char* name_;
  Inputs inputs_;
  const void* of_;
};

/// Keeps memory apart: what is allocated while the scope lives comes from `pool` and returns to it, so that a
/// captured CUDA graph may replay into the same addresses for as long as the pool lives.
class MemoryPool;
std::shared_ptr<MemoryPool> make_memory_pool(Device device);
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
/// `bytes` of device memory in the current pool, aligned to 256 bytes. `shape` and `dtype` serve the message
/// of OutOfMemory, which is thrown when neither the cache nor the device has that much left. The chunk
/// belongs to the stream (core/stream.h) that is current on this thread.
Chunk* allocate(Device device, size_t bytes, const Shape& shape, DType dtype);
void* address_of(const Chunk* chunk);
int stream_of(const Chunk* chunk);
/// Back to its pool, where it is for its stream to reuse: at once, since what that stream does next comes
/// after what it did before; or if other streams used it (bit s of `used_on` for stream s), once they have
/// done what they have queued by now.
void release(Chunk* chunk, uint64_t used_on = 0);
}  // namespace detail

}  // namespace adj
