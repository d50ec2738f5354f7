#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <memory>

namespace adj::optim {

/// One training step as a function: forward, loss, backward and optimizer step. On the CPU a call runs it. On
/// a GPU the first calls run it, then one records it as a CUDA graph, and from there on a call is a single
/// launch with the same bits: random numbers and the optimizer's count advance on the device. The function
/// must do the same work each time: same tensors, same shapes, nothing read back to the host, nothing
/// computed on the CPU (core/capture.h says what is noticed). It belongs to the stream that is current when
/// it is recorded. Where the recording throws, gradients, optimizers and generators are as they were before
/// the call.
class CapturedStep {
 public:
  struct Options {
    bool capture = true;  ///< false: run the function at every call, on a GPU too
  };

  /// `step` returns the loss, a scalar.
  explicit CapturedStep(std::function<Var()> step);
  CapturedStep(std::function<Var()> step, Options options);
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// Runs one step; returns its loss, which stays on the device until read (`.item()`). A recorded step
  /// returns the same tensor each time, with its new value.
  Tensor operator()();
  /// Forgets the recording: for when tensors or shapes have changed. The next calls run the function again.
  void reset();
  bool captured() const;

 private:
  struct Recording;
  std::function<Var()> step_;
  Options options_;
  int eager_calls_ = 0;
  Device device_;  // the loss's
  std::unique_ptr<Recording> recording_;
};

}  // namespace adj::optim
