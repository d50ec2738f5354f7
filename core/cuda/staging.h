#pragma once

#include <cstddef>
#include <vector>

#include <cuda_runtime_api.h>

namespace adj::cuda {

/// Ring of pinned host buffers for asynchronous copies between host and device; copies from pageable memory
/// would block. Not thread-safe.
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
  /// Marks the slot busy until the work queued on `stream` so far is done.
  static void record(Slot& slot, cudaStream_t stream);
  static void wait(Slot& slot);

 private:
  size_t slot_bytes_;
  size_t next_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace adj::cuda
