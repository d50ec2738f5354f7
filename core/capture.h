#pragma once

#include <adjoint/core/random.h>

#include <memory>

namespace adj {

/// A step recorded once on a GPU and replayed as one launch. Between begin() and end() the calling thread's
/// work on the device is recorded, not run; each replay() then runs it, on the same addresses, after what was
/// queued before. Run the step once eagerly first, so that what is made once on demand is there. Random
/// streams advance as if the step ran eagerly, with the same bits. Tensors that the recorded step made and
/// somebody still holds (the loss, gradients) have new values after each replay.
///
/// Nothing recorded may depend on the host: reading a tensor (item, to_vector, to), waiting (synchronize) or
/// copying a host value to the device within the step throws Error, after which abort() leaves everything
/// usable.
class StepGraph {
 public:
  StepGraph();
  /// Aborts an unfinished capture.
  ~StepGraph();
  StepGraph(StepGraph&&) noexcept;
  StepGraph& operator=(StepGraph&&) noexcept;

  /// Can steps be captured on this device? Only on a GPU.
  static bool supported(Device device);

  /// Forgets what was recorded before. `generator` must outlive the graph. Throws Error where the device
  /// cannot capture or this thread is capturing already.
  void begin(Device device, Generator& generator = default_generator());
  /// Throws Error if something in the step could not be recorded; then nothing is captured.
  void end();
  /// Gives up what was recorded since begin(); nothing of it has run. Without effect otherwise.
  void abort() noexcept;

  bool capturing() const;
  /// Is a step recorded, and is the generator's seed still the one it was recorded with?
  bool ready() const;
  /// Queues one run of the step. Throws Error unless ready().
  void replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace adj
