#pragma once

#include <adjoint/core/random.h>
#include <adjoint/core/stream.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj {

class MemoryPoolScope;

/// True if this thread is capturing a step on `device`. Captures by other threads do not count.
bool capturing(Device device);

/// A training step captured once on a GPU and replayed with one launch (CUDA graph). Between begin() and
/// end() the calling thread's work on the device is recorded, not run; each replay() runs it on the same
/// addresses. Run the step once eagerly first, so that lazily made objects exist. Tensors made by the
/// captured step and still held (the loss, gradients) have new values after each replay.
///
/// A capture belongs to one thread and to the stream that is current at begin(). It always replays on that
/// stream, with that stream's kernel workspaces. Other threads may allocate and compute meanwhile.
///
/// Random numbers advance as in eager execution, with the same bits, for every generator that the step draws
/// from. Draws of other threads from the same generator are not captured; each replay takes the generator's
/// next streams. A generator made within the step gives the same numbers at every replay, as it does in every
/// eager run.
///
/// A captured step must not depend on the host. These throw Error during capture: reading a tensor (item,
/// to_vector, to), synchronize, copying a host value to the device, computing on the CPU or on another GPU,
/// setting a generator's state. abort() then leaves everything usable. Host-side C++ effects (counters,
/// writes through data(), building a host tensor from values) cannot be detected; they happen once.
class StepGraph {
 public:
  StepGraph();
  /// Aborts an unfinished capture.
  ~StepGraph();
  StepGraph(StepGraph&&) noexcept;
  StepGraph& operator=(StepGraph&&) noexcept;

  /// True if `device` supports capture: GPUs only.
  static bool supported(Device device);

  /// Starts a new capture and discards the previous one. Throws Error if the device cannot capture or this
  /// thread is already capturing. `derives`: objects made lazily within the step (OutsideCapture) belong to
  /// it, so that each replay makes them anew: for structures whose contents change between replays, which no
  /// earlier run of the step may have used. Those of all steps must then exist.
  void begin(Device device, bool derives = false);
  /// Throws Error if part of the step could not be captured; the graph is then empty.
  void end();
  /// Discards what was recorded since begin(); none of it has run. No effect outside of a capture.
  void abort() noexcept;

  bool capturing() const;  ///< true between begin() and end() or abort()
  /// True if a step is captured and all its generators still have the seed that they were captured with.
  bool ready() const;
  /// Queues one run of the step, ordered with this thread's current stream: after what it has queued, before
  /// what it queues next. Throws Error unless ready().
  void replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace detail {

/// State of one capture, as core needs it. `bases[i]` is the i-th generator's stream counter in device
/// memory; captured random keys count from it.
class Recorder {
 public:
  static constexpr size_t kMaxGenerators = 64;

  struct Drawn {
    std::shared_ptr<GeneratorState> generator;
    uint64_t seed = 0;
    uint64_t streams = 0;  ///< streams taken by one run of the step
  };

  /// `stream` is the native handle of the capturing stream; null in CPU tests. `derives`: see
  /// StepGraph::begin().
  Recorder(Device device, void* stream, const uint64_t* bases, bool derives = false);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Device device() const { return device_; }
  void* stream() const { return stream_; }
  uint64_t number() const { return number_; }
  bool derives() const { return derives_; }
  const std::vector<Drawn>& drawn() const { return drawn_; }
  RandomKey draw(const std::shared_ptr<GeneratorState>& generator);

 private:
  Device device_;
  void* stream_;
  const uint64_t* bases_;
  uint64_t number_;  // unique within the process
  bool derives_;
  std::vector<Drawn> drawn_;
};

/// This thread's recorder; null if it is not capturing.
Recorder* recorder();

/// Sets this thread's recorder for the scope; null means no capture.
class RecorderScope {
 public:
  explicit RecorderScope(Recorder* recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* outer_;
};

/// Throws Error while this thread captures a step: CPU work of `op` would run once and not at replay.
void refuse_cpu_in_capture(const char* op);

}  // namespace detail

/// For objects made lazily and shared by all steps, threads and streams: a transposed structure, a kernel's
/// plan. In this scope the thread's work runs immediately, even during a capture, and its allocations do not
/// belong to the step. At the end of the scope the host waits for the current streams of the devices
/// that the thread used in it, if the thread is capturing or the device has several streams, so that the new
/// object is complete for every reader. Code in the scope must not read results of the captured step: they
/// have no values yet.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();

 private:
  const detail::Recorder* outer_;
  uint64_t used_before_;
  std::shared_ptr<void> allowed_;
  std::unique_ptr<MemoryPoolScope> pool_;
  std::optional<detail::RecorderScope> recorder_;
};

}  // namespace adj
