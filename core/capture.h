#pragma once

#include <adjoint/core/random.h>
#include <adjoint/core/stream.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj {

class MemoryPoolScope;

/// Is this thread recording a step on `device`? What other threads record is not asked.
bool capturing(Device device);

/// A step recorded once on a GPU and replayed as one launch. Between begin() and end() the calling thread's
/// work on the device is recorded, not run; each replay() then runs it, on the same addresses. Run the step
/// once eagerly first, so that what is made once on demand is there. Tensors that the recorded step made and
/// somebody still holds (the loss, gradients) have new values after each replay.
///
/// A capture belongs to one thread and one stream: that which is current at begin(). There it is replayed,
/// wherever replay() is called from, so that the kernels' workspaces are its own. Other threads allocate and
/// compute meanwhile as if nothing were recorded.
///
/// Random numbers advance as if the step ran eagerly, with the same bits, whatever generators it draws from:
/// each is noted when the step first draws from it. Draws of other threads from the same generator are not
/// recorded; each replay takes the streams that come next by then. A generator made within the step is made
/// anew by every eager run, and so gives the same numbers at every replay.
///
/// Nothing recorded may depend on the host: reading a tensor (item, to_vector, to), waiting (synchronize),
/// copying a host value to the device, computing on the CPU or on another GPU, or setting a generator's state
/// within the step throws Error, after which abort() leaves everything usable. What C++ code does by itself
/// (counting, writing through data(), making a host tensor from values) cannot be noticed: it happens once.
class StepGraph {
 public:
  StepGraph();
  /// Aborts an unfinished capture.
  ~StepGraph();
  StepGraph(StepGraph&&) noexcept;
  StepGraph& operator=(StepGraph&&) noexcept;

  /// Can steps be captured on this device? Only on a GPU.
  static bool supported(Device device);

  /// Forgets what was recorded before. Throws Error where the device cannot capture or this thread is
  /// capturing already.
  void begin(Device device);
  /// Throws Error if something in the step could not be recorded; then nothing is captured.
  void end();
  /// Gives up what was recorded since begin(); nothing of it has run. Without effect otherwise.
  void abort() noexcept;

  bool capturing() const;
  /// Is a step recorded, and have all its generators the seed that they were recorded with?
  bool ready() const;
  /// Queues one run of the step, after what this thread's current stream has queued and before what it will.
  /// Throws Error unless ready().
  void replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace detail {

/// What a thread records, as core needs to know it. Each generator that the step draws from has a number
/// in device memory, `bases[i]`, that the recorded keys count from.
class Recorder {
 public:
  static constexpr size_t kMaxGenerators = 64;

  struct Drawn {
    std::shared_ptr<GeneratorState> generator;
    uint64_t seed = 0;
    uint64_t streams = 0;  ///< taken by one run of the step
  };

  /// `stream` is the device's own handle of the stream that records; null in tests on the CPU.
  Recorder(Device device, void* stream, const uint64_t* bases);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Device device() const { return device_; }
  void* stream() const { return stream_; }
  uint64_t number() const { return number_; }
  const std::vector<Drawn>& drawn() const { return drawn_; }
  RandomKey draw(const std::shared_ptr<GeneratorState>& generator);

 private:
  Device device_;
  void* stream_;
  const uint64_t* bases_;
  uint64_t number_;  // no two recordings of a process have the same
  std::vector<Drawn> drawn_;
};

/// What this thread records now; null where it records nothing.
Recorder* recorder();

/// While it lives, this thread records with `recorder`; with null, nothing.
class RecorderScope {
 public:
  explicit RecorderScope(Recorder* recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* outer_;
};

/// Throws Error while this thread records a step: `op` computes on the CPU, once and never again.
void refuse_cpu_in_capture(const char* op);

}  // namespace detail

/// For what is made on first demand and kept for all steps, threads and streams: a transposed structure, a
/// kernel's plan. While it lives, this thread's work runs and is not recorded, within a captured step too,
/// and what it allocates is not the step's. When it ends, what was made is complete for whoever could read it
/// out of order: where the thread records or a device has several streams, the host waits for the current
/// ones. It must read nothing that the recorded step computes: that has no values yet.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  const detail::Recorder* outer_;
  std::shared_ptr<void> allowed_;
  std::unique_ptr<MemoryPoolScope> pool_;
  std::optional<detail::RecorderScope> recorder_;
};

}  // namespace adj
