#pragma once

#include <adjoint/core/device.h>

#include <cstdint>

namespace adj {

/// A queue of work on one device: what is queued on one stream runs in order, two streams run beside each
/// other. A plain value, cheap to copy and valid for the whole process. Each device has a default stream, on
/// which everything runs unless a StreamScope says otherwise; on the CPU a stream is only a name, and all
/// work is done at once.
///
/// Who uses two streams says what waits for what: a stream that reads what another one writes waits for it
/// first (`reader.wait(writer)`). Memory needs no such care. A tensor's storage belongs to the stream that
/// was current when it was made. If its data was asked for while another stream was current (or it was
/// declared by Tensor::use_on), that is remembered, and once the last tensor lets go of it, it is handed out
/// again only when those streams have done what they had queued by then. A program that makes no stream
/// pays for none of this.
class Stream {
 public:
  /// The CPU's.
  Stream() = default;

  /// A stream of its own, which begins after what the default one has queued so far. A device has 32 of
  /// them; from then on they are given out again in turn, which changes nothing but what runs at once.
  static Stream make(Device device);
  /// Where this thread's work on the device goes.
  static Stream current(Device device);
  static Stream default_of(Device device) { return {device, 0}; }

  Device device() const { return device_; }
  /// 0 is the default stream.
  int id() const { return id_; }

  /// Returns once all that was queued on this stream is done. Throws Error while this thread captures a step.
  void synchronize() const;
  /// What is queued here from now on runs after what `other`, of the same device, has queued so far. The host
  /// waits for nothing. Throws Error while this thread captures a step.
  void wait(const Stream& other) const;

  bool operator==(const Stream&) const = default;

 private:
  friend class StreamScope;
  Stream(Device device, int id) : device_(device), id_(id) {}

  Device device_;
  int id_ = 0;
};

/// While it lives, this thread's work on the stream's device goes to `stream`. Scopes nest. A step that is
/// being captured runs on one stream: within it, another one is refused.
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
/// The default one and those that Stream::make hands out: a set of them fits into 64 bits.
constexpr int kMaxStreams = 33;
/// The number of this thread's current stream on the device.
int current_stream(Device device);
/// The GPUs, bit i for cuda:i, for which Stream::make was ever called: set before the new stream begins.
uint64_t devices_with_streams();
}  // namespace detail

}  // namespace adj
