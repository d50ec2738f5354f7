#pragma once

#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/tensor.h>

#include <algorithm>
#include <utility>

#include <cuda_runtime.h>

namespace adj::cuda {

constexpr int kBlockThreads = 256;

struct LaunchShape {
  int device = 0;
  dim3 blocks;
  dim3 threads = kBlockThreads;
  size_t shared_bytes = 0;
  bool overlaps = false;  ///< the kernel calls begin_overlapping() before anything else
};

/// Lets the blocks of the next kernel be placed as soon as this one's all are (programmatic dependent
/// launch), then waits until the kernels before have ended and what they wrote is visible. Hides most of the
/// time between two small kernels. Every thread of a kernel launched with `overlaps` must call it before it
/// touches memory.
__device__ __forceinline__ void begin_overlapping() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Queues `kernel` on the current stream of the device; nothing where there is no block. An error names
/// `name`.
template <class... Parameters, class... Arguments>
void launch(const char* name, const LaunchShape& shape, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (shape.blocks.x == 0 || shape.blocks.y == 0 || shape.blocks.z == 0) return;
  use_device(shape.device);
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = current_stream(shape.device);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = shape.overlaps && properties(shape.device).overlapping ? 1 : 0;
  check_launch(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

/// Blocks so that each of `items` has a thread (each thread taking `per_thread`), at most what a grid can
/// have: kernels stride over the grid for the rest.
inline unsigned blocks_for(int64_t items, int per_thread = 1, int threads = kBlockThreads) {
  return static_cast<unsigned>(
      std::min<int64_t>(ceil_div(items, static_cast<int64_t>(threads) * per_thread), 0x7fffffff));
}

/// N values that are loaded and stored together, 16 bytes at a time where N of them fill 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T value[N];
  __host__ __device__ T& operator[](int i) { return value[i]; }
  __host__ __device__ const T& operator[](int i) const { return value[i]; }
};

/// Values in 16 bytes: the width of vector accesses.
template <class T>
constexpr int kVectorWidth = 16 / static_cast<int>(sizeof(T));

/// `address` must be aligned like Pack<T, N>.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load(const T* address) {
  return *reinterpret_cast<const Pack<T, N>*>(address);
}
template <int N, class T>
__device__ __forceinline__ void store(T* address, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(address) = pack;
}

/// May every one of these addresses be read 16 bytes at a time? Views of rows may begin anywhere. Null may.
template <class... Pointers>
bool aligned_to_16(const Pointers*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

}  // namespace adj::cuda
