#pragma once

#include <adjoint/core/device.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace adj {

/// Device interface of core; one instance per device, from `runtime(device)`. Work is queued in order on the
/// thread's current stream of the device; the CPU runtime executes it at once. Streams are referred to by
/// number (core/stream.h).
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  /// Raw memory for the caching allocator, aligned to at least 256 bytes; null if out of memory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* pointer, size_t bytes) = 0;  ///< memory of allocate(); never throws
  /// Page-locked host memory that device kernels can read in place at the same address; null if out of
  /// memory.
  virtual void* allocate_pinned(size_t bytes) = 0;
  virtual void release_pinned(void* pointer) = 0;  ///< memory of allocate_pinned(); never throws
  /// Free and total bytes of the device (on the CPU: physical memory).
  virtual void memory_info(size_t* free_bytes, size_t* total_bytes) = 0;

  /// Returns once `host` may change. Throws Error while a step is captured on the GPU, as copy_to_host().
  virtual void copy_from_host(void* device_pointer, const void* host, size_t bytes) = 0;
  /// Returns once the bytes have arrived.
  virtual void copy_to_host(void* host, const void* device_pointer, size_t bytes) = 0;
  /// Within the device's memory.
  virtual void copy_within(void* target, const void* source, size_t bytes) = 0;
  /// From the memory of another GPU, after what its current stream has queued; later work there waits.
  virtual void copy_from_peer(void* target, Device peer, const void* source, size_t bytes) = 0;
  /// Lets kernels read the memory of another GPU in place, as their own; false if they cannot.
  virtual bool open_peer(Device peer) = 0;
  /// Sets each byte to the low 8 bits of `byte`.
  virtual void fill_bytes(void* pointer, int byte, size_t bytes) = 0;
  /// Waits for all streams.
  virtual void synchronize() = 0;
  /// Waits for those of other libraries too.
  virtual void synchronize_device() = 0;

  /// Number of a new stream, ordered after what stream 0 has queued so far.
  virtual int make_stream() = 0;
  virtual void synchronize_stream(int stream) = 0;  ///< waits for this stream
  /// The driver's handle of a stream (cudaStream_t), by which other libraries know it.
  virtual uintptr_t stream_handle(int stream) = 0;
  /// Future work of the stream `later` runs after what `earlier` has queued so far. Handles: of our streams,
  /// another library's, or 1 for the legacy default stream and 2 for the calling thread's, as in DLPack.
  virtual void order(uintptr_t later, uintptr_t earlier) = 0;
  /// While the result lives, the device is the thread's current one in the driver, where other libraries read
  /// it.
  virtual std::shared_ptr<void> make_current() = 0;

  /// Records an event at the end of the stream's queued work; null if there is nothing to wait for. Called
  /// when memory is freed, so both are noexcept: a broken device is reported by the next call.
  virtual void* mark(int stream) noexcept = 0;
  /// True if the work before the event is done; `wait` blocks until then. The event is destroyed when the
  /// result is true.
  virtual bool passed(void* mark, bool wait) noexcept = 0;

  /// While the result lives, this thread may make calls that a capture forbids by default.
  virtual std::shared_ptr<void> allow_in_capture() = 0;
};

DeviceRuntime& runtime(Device device);  ///< lives as long as the process; throws Error if unavailable

namespace detail {
/// Defined in core/cuda/, or in core/no_cuda/ for builds without CUDA, where it throws.
DeviceRuntime& cuda_runtime(int index);
/// Why the GPU of this number cannot be used ("built without CUDA", "no NVIDIA driver", a too old GPU, …);
/// empty if it can or is beyond the last one.
std::string cuda_unavailable_reason(int index);
/// Number of GPUs that the driver reports, usable or not.
int cuda_device_count();
}  // namespace detail

}  // namespace adj
