#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace adj::cuda {

/// Where kernels leave word of a number that is out of range: they cannot throw, and a step does not wait for
/// the host to look. The first one by place is kept, so that the message is the same in every run, and a
/// word in the host's own memory says that there is one; it costs a kernel nothing where all is well, and
/// whoever reads from the device a look at that word. Pointers hold for the whole process, so that a captured
/// step may keep them.
struct Fault {
  unsigned long long* first;  ///< on the device: place << 32 | value; kNoFault where there is none
  long long* limit;           ///< on the device
  volatile int* raised;       ///< on the host
};
constexpr unsigned long long kNoFault = ~0ull;

/// The one of `name` in `op` ("label", "cross_entropy"), literals, on a device.
Fault fault_of(int index, const char* op, const char* name);

/// Throws if a kernel that has ended raised a fault: "cross_entropy: label[5] is 9, expected [0, 7)
/// (on cuda:0)". Then it is forgotten. The host has waited for the kernels in question.
void throw_fault(int index);
/// The word in the host's memory.
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
