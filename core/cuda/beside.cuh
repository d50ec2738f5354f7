#pragma once

// Runs two kernels concurrently on one stream (programmatic dependent launch). The leading kernel, which has
// few blocks that each fill an SM, calls begin_leading(). The second kernel, queued directly after it, calls
// begin_beside(): its blocks take the free SMs, then those of the leading kernel as it ends. Neither may read
// the other's output. The next kernel, with a normal begin, sees the output of both.

#include <adjoint/core/cuda/launch.cuh>

namespace adj::cuda {

/// As begin_overlapping(), but blocks of the next kernel are placed only after all earlier kernels have
/// ended.
__device__ __forceinline__ void begin_leading() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// For the second kernel: waits until the leading kernel has ended and its writes are visible.
__device__ __forceinline__ void wait_for_leading() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// `overlap`: whether the previous kernel was launched as the leading one; otherwise same as
/// begin_overlapping(). The last block still waits for it, so that this kernel does not end first.
__device__ __forceinline__ void begin_beside(bool overlap) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const bool last = blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1;
  if (!overlap || last) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace adj::cuda
