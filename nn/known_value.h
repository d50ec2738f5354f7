#pragma once

#include <adjoint/core/capture.h>
#include <adjoint/core/tensor.h>

#include <mutex>

namespace adj::nn::detail {

/// The first number of a buffer as the host knows it: the device is asked once for each value that somebody
/// gave the buffer. Threads may ask at once.
class KnownValue {
 public:
  double of(const Tensor& buffer) {
    const std::lock_guard lock(mutex_);
    if (storage_ != buffer.storage_id() || version_ != buffer.version()) {
      const OutsideCapture read_by_the_host;
      keep(buffer, buffer.rows(0, 1).item());
    }
    return value_;
  }
  /// For a buffer that was just given a number on the device, of which the caller knows `value`.
  void set(const Tensor& buffer, double value) {
    const std::lock_guard lock(mutex_);
    keep(buffer, value);
  }

 private:
  void keep(const Tensor& buffer, double value) {
    value_ = value;
    storage_ = buffer.storage_id();
    version_ = buffer.version();
  }

  std::mutex mutex_;
  double value_ = 0.0;
  uint64_t storage_ = 0, version_ = 0;
};

}  // namespace adj::nn::detail
