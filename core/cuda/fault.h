#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace adj::cuda {

/// Error slot for out-of-range values found in kernels, which cannot throw; the host does not synchronize
/// within a step. The fault at the lowest position is kept, so that the message is deterministic, and a flag
/// in host memory is raised. Without a fault a kernel pays nothing, and a device-to-host read checks the
/// flag. The pointers are valid for the whole process; a captured step may keep them.
struct Fault {
  unsigned long long* first;  ///< on the device: position << 32 | value; kNoFault if none
  long long* limit;           ///< on the device
  volatile int* raised;       ///< on the host
};
constexpr unsigned long long kNoFault = ~0ull;

/// The slot for `name` in `op` ("label", "cross_entropy"; string literals) on a device.
Fault fault_of(int index, const char* op, const char* name);

/// Throws if a finished kernel raised a fault, "cross_entropy: label[5] is 9, expected [0, 7) (on cuda:0)",
/// and clears it. The host must have waited for the kernels in question.
void throw_fault(int index);
/// The flag in host memory.
volatile int* faults_raised(int index);
inline void check_faults(int index) {
  if (*faults_raised(index) != 0) [[unlikely]]
    throw_fault(index);
}

#ifdef __CUDACC__
__device__ __forceinline__ void raise(const Fault& fault, int64_t place, int32_t value, int64_t limit) {
  constexpr int64_t kLast = 0x7fffffff;
  const auto where = static_cast<unsigned long long>(place < kLast ? place : kLast);
  atomicMin(fault.first, where << 32 | static_cast<unsigned>(value));
  *fault.limit = limit;
  *fault.raised = 1;
}
#endif

}  // namespace adj::cuda
