#include <adjoint/core/cuda/check.h>
#include <adjoint/core/cuda/staging.h>

namespace adj::cuda {

// Never freed: the ring lives as long as the process, and CUDA may be shut down before statics are destroyed.
StagingRing::StagingRing(size_t slot_bytes, int slots)
    : slot_bytes_(slot_bytes), slots_(static_cast<size_t>(slots)) {
  void* memory = nullptr;
  ADJ_CUDA_CHECK(cudaHostAlloc(&memory, slot_bytes * slots_.size(), cudaHostAllocDefault));
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].data = static_cast<char*>(memory) + i * slot_bytes;
    ADJ_CUDA_CHECK(cudaEventCreateWithFlags(&slots_[i].done, cudaEventDisableTiming));
  }
}

StagingRing::Slot& StagingRing::acquire() {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  wait(slot);
  return slot;
}

void StagingRing::record(Slot& slot, cudaStream_t stream) {
  ADJ_CUDA_CHECK(cudaEventRecord(slot.done, stream));
}

// An event that was never recorded counts as complete.
void StagingRing::wait(Slot& slot) { ADJ_CUDA_CHECK(cudaEventSynchronize(slot.done)); }

}  // namespace adj::cuda
