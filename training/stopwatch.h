#pragma once

#include <adjoint/core/device.h>

#include <chrono>

namespace adj::training {

/// Times training alone: stop() before an evaluation or a checkpoint, start() after it.
class Stopwatch {
 public:
  void start() {
    begin_ = Clock::now();
    epochs_ = 0;
  }
  void count() { ++epochs_; }
  /// Milliseconds an epoch since start().
  double stop(Device device) const {
    synchronize(device);
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count() /
           static_cast<double>(epochs_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  int64_t epochs_ = 0;
};

}  // namespace adj::training
