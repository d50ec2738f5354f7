#pragma once

#include <adjoint/core/device.h>

#include <functional>
#include <memory>

namespace adj {

/// A branch of a thread's work on a GPU, which runs beside that of its current stream, also within a captured
/// step: exchanges behind sums. On the CPU, and if default-constructed, the work runs at once. A cheap
/// handle; one thread uses it.
class SideStream {
 public:
  SideStream() = default;
  /// A new branch; it is preferred where its blocks and those of other work wait for the same processors.
  explicit SideStream(Device device);

  /// Queues what `work` does behind all that the current stream has by now. It makes no tensors on the
  /// device, since memory belongs to the current stream, and those that it uses live until join().
  void run(const std::function<void()>& work) const;
  /// Future work of the current stream runs behind all that the branch has by now.
  void join() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // null: no branch
};

}  // namespace adj
