#pragma once

// Barriers in shared memory (PTX ISA, "mbarrier"): unlike named barriers, they let one side run ahead.

#include <cstdint>

namespace adj::kernels::cuda {

/// A barrier of 8 bytes whose phase ends by `arrivals`. By one thread, before a __syncthreads.
__device__ __forceinline__ void initialize_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// One arrival, once all lanes are here.
__device__ __forceinline__ void arrive_by_warp(uint32_t barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Waits for the end of the phase of this parity.
__device__ __forceinline__ void wait_for_barrier(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nwaiting:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra waited;\nbra waiting;\nwaited:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace adj::kernels::cuda
