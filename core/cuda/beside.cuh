#pragma once

// Two kernels side by side on one stream (programmatic dependent launch). The first one, of few blocks that
// each fill a multiprocessor, calls begin_leading(); the second one, queued next with nothing in between,
// begin_beside(): its blocks take the other multiprocessors, and those of the first one as it ends. Neither
// may read what the other one writes. The kernel after both, which begins as any other, sees what both wrote.

#include <adjoint/core/cuda/launch.cuh>

namespace adj::cuda {

/// begin_overlapping(), but that the next kernel's blocks are not placed before the kernels before have
/// ended.
__device__ __forceinline__ void begin_leading() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits, in a kernel beside, for the one that leads and for what that wrote.
__device__ __forceinline__ void wait_for_leading() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// `beside`: was the kernel before launched to lead this one? Else begin_overlapping(). The last block waits
/// for it all the same, so that this kernel does not end sooner.
__device__ __forceinline__ void begin_beside(bool beside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const bool last = blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1;
  if (!beside || last) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace adj::cuda
