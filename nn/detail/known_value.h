#pragma once

#include <adjoint/core/capture.h>
#include <adjoint/core/tensor.h>

#include <mutex>

namespace adj::nn::detail {

/// Host copy of a buffer's first number. Reads the device once per value written to the buffer. Thread-safe.
class KnownValue {
 public:
  double read(const Tensor& buffer) {
    const std::lock_guard lock(mutex_);
    if (storage_ != buffer.storage_id() || version_ != buffer.version()) {
      const OutsideCapture read_by_the_host;
      keep(buffer, buffer.rows(0, 1).item());
    }
    return value_;
  }
  /// After the device wrote `value` to the buffer: records it without a read.
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
