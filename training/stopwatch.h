#pragma once

#include <adjoint/core/device.h>

#include <chrono>

namespace adj::training {

/// Seconds from `start` until now.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Measures training time only: stop() before an evaluation or a checkpoint, start() after it.
class Stopwatch {
 public:
  void start() {
    begin_ = std::chrono::steady_clock::now();
    epochs_ = 0;
  }
  void count() { ++epochs_; }  ///< one more epoch since start()
  /// Milliseconds per epoch since start().
  double stop(Device device) const {
    synchronize(device);
    return 1e3 * seconds_since(begin_) / static_cast<double>(epochs_);
  }

 private:
  std::chrono::steady_clock::time_point begin_;
  int64_t epochs_ = 0;
};

}  // namespace adj::training
