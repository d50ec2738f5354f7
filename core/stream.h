#pragma once

#include <adjoint/core/device.h>

#include <cstdint>

namespace adj {

/// A queue of work on one device: work on one stream runs in order, different streams run concurrently. A
/// plain value, cheap to copy and valid for the whole process. Everything runs on the device's default stream
/// unless a StreamScope is active. On the CPU a stream is only a name, and work runs at once.
///
/// Users of several streams order them explicitly: a stream that reads another one's output waits for it
/// first (`reader.wait(writer)`). Memory is safe without that. Storage belongs to the stream that was current
/// when it was made. Other streams that accessed its data (or were declared by Tensor::use_on) are recorded,
/// and once the last tensor releases the storage, it is reused only after the work that those streams had
/// queued by then. Programs that make no stream pay nothing for this.
class Stream {
 public:
  /// The CPU's stream.
  Stream() = default;

  /// A new stream, ordered after what the default one has queued so far. A device has 32; after that they are
  /// reused in turn, which affects concurrency only.
  static Stream make(Device device);
  /// This thread's current stream on the device.
  static Stream current(Device device);
  static Stream default_of(Device device) { return {device, 0}; }  ///< the device's stream 0

  Device device() const { return device_; }
  /// 0 is the default stream.
  int id() const { return id_; }

  /// Waits until all work queued on this stream is done. Throws Error while this thread is capturing a step.
  void synchronize() const;
  /// Future work on this stream runs after what `other`, of the same device, has queued so far. Does not
  /// block the host. Throws Error while this thread is capturing a step.
  void wait(const Stream& other) const;

  bool operator==(const Stream&) const = default;

 private:
  friend class StreamScope;
  Stream(Device device, int id) : device_(device), id_(id) {}

  Device device_;
  int id_ = 0;
};

/// In this scope this thread's work on the stream's device goes to `stream`. Scopes nest. A capture uses one
/// stream: within it, another one is refused.
class StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream outer_;
};

namespace detail {
constexpr int kMaxDevices = 64;
/// The default stream plus those of Stream::make; a set of them fits into 64 bits.
constexpr int kMaxStreams = 33;
/// Number of this thread's current stream on the device. Notes that the thread uses the device.
int current_stream(Device device);
/// GPUs that this thread has used since the last call (bit i for cuda:i); those of `used` count as used
/// again.
uint64_t exchange_used_devices(uint64_t used);
/// GPUs for which Stream::make was ever called (bit i for cuda:i); set before the new stream starts.
uint64_t devices_with_streams();
}  // namespace detail

}  // namespace adj
