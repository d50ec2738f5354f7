#pragma once

#include <cstddef>
#include <vector>

#include <cuda_runtime_api.h>

namespace adj::cuda {

/// A ring of pinned host buffers that copies between host and device pass through: the device reads or writes
/// them on its own, while ordinary host memory would have to be waited for. Not thread-safe.
class StagingRing {
 public:
  struct Slot {
    char* data = nullptr;
    cudaEvent_t done = nullptr;
  };

  StagingRing(size_t slot_bytes, int slots);

  size_t slot_bytes() const { return slot_bytes_; }
  size_t slots() const { return slots_.size(); }
  /// The next slot of the ring, once the copy that it last served is done.
  Slot& acquire();
  /// Marks the slot busy with what was queued on `stream` so far.
  static void record(Slot& slot, cudaStream_t stream);
  static void wait(Slot& slot);

 private:
  size_t slot_bytes_;
  size_t next_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace adj::cuda
