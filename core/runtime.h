#pragma once

#include <adjoint/core/device.h>

#include <cstddef>
#include <memory>

namespace adj {

/// What core asks of a device; one instance per device, found by `runtime(device)`. Work is queued on the
/// thread's current stream of the device, in order; the CPU's runtime does it at once. Streams are named by
/// their number (core/stream.h).
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  /// Raw memory for the caching allocator, aligned to 256 bytes at least; null when there is none left.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* pointer, size_t bytes) = 0;
  /// Memory of the host that kernels of the device can read in place (page-locked), under one address; null
  /// when there is none left.
  virtual void* allocate_pinned(size_t bytes) = 0;
  virtual void release_pinned(void* pointer) = 0;
  /// Free and total bytes of the device (physical memory on the CPU).
  virtual void memory_info(size_t* free_bytes, size_t* total_bytes) = 0;

  virtual void copy_from_host(void* device_pointer, const void* host, size_t bytes) = 0;
  /// Returns once the bytes have arrived.
  virtual void copy_to_host(void* host, const void* device_pointer, size_t bytes) = 0;
  virtual void copy_within(void* to, const void* from, size_t bytes) = 0;
  virtual void fill_bytes(void* pointer, int byte, size_t bytes) = 0;
  /// Waits for all streams.
  virtual void synchronize() = 0;

  /// The number of a stream that begins after what stream 0 has queued so far.
  virtual int make_stream() = 0;
  virtual void synchronize_stream(int stream) = 0;
  /// What `stream` queues from now on runs after what `other` has queued so far.
  virtual void wait_for_stream(int stream, int other) = 0;

  /// Marks the end of what the stream has queued so far; null if there is nothing to wait for. Called where
  /// memory is freed, so neither throws: a broken device tells the next call.
  virtual void* mark(int stream) noexcept = 0;
  /// Is the work before the mark done? With `wait`, once it is. A mark is gone when the answer was true.
  virtual bool passed(void* mark, bool wait) noexcept = 0;

  /// While the result lives, this thread may call what capturing a step forbids by default.
  virtual std::shared_ptr<void> allow_in_capture() = 0;
};

DeviceRuntime& runtime(Device device);

namespace detail {
/// Defined in core/cuda/, or in core/no_cuda/ for a build without CUDA, where it throws.
DeviceRuntime& cuda_runtime(int index);
/// Why no GPU can be used ("built without CUDA", "no NVIDIA driver", …); empty where one can.
std::string cuda_unavailable_reason();
int cuda_device_count();
}  // namespace detail

}  // namespace adj
