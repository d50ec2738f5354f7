#pragma once

#include <adjoint/autograd/variable.h>

#include <functional>
#include <memory>

namespace adj::optim {

/// A training step as a function: forward, loss, backward and optimizer step. On the CPU each call runs it.
/// On a GPU the first calls run it, then one call captures it as a CUDA graph; later calls are a single
/// launch with bit-identical results: random numbers and the optimizer's step count advance on the device.
/// The function must do the same work each time: same tensors, same shapes, no reads by the host, no
/// computation on the CPU (core/capture.h lists what is detected). It is bound to the stream that is current
/// at capture. If the capture throws, gradients, optimizers and generators are as before the call.
class CapturedStep {
 public:
  /// Options of the constructor.
  struct Options {
    bool capture = true;  ///< false: run the function at every call, also on a GPU
    /// What is made lazily within the step is made anew at each replay (StepGraph::begin()): for batches
    /// whose contents are copied to the same storage (PaddedBlocks), in a new handle for each call.
    bool derives = false;
  };

  /// `step` returns the loss, a scalar.
  explicit CapturedStep(std::function<Var()> step);
  CapturedStep(std::function<Var()> step, Options options);
  ~CapturedStep();

  /// Runs one step; returns its loss, which stays on the device until read (`.item()`). A captured step
  /// returns the same tensor each time, with its new value.
  Tensor operator()();
  /// One step by the function itself, for a batch that has another storage than the captured ones.
  Tensor run();
  /// Drops the captured graph, after a change of tensors or shapes. The next calls run the function again.
  void reset();
  /// True if the next call replays. False again after reset(), or once a generator of the step is reseeded.
  bool captured() const;

 private:
  struct Recording;
  std::function<Var()> step_;
  Options options_;
  int eager_calls_ = 0;
  Device device_;  // of the loss
  std::unique_ptr<Recording> recording_;
};

}  // namespace adj::optim
