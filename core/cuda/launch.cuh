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
  bool overlaps = false;  ///< the kernel calls begin_overlapping() first
};

/// Lets the next kernel's blocks be placed once all blocks of this one are (programmatic dependent launch),
/// then waits until the previous kernels have ended and their writes are visible. Hides most of the gap
/// between two small kernels. In a kernel launched with `overlaps`, every thread must call it before any
/// memory access.
__device__ __forceinline__ void begin_overlapping() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Queues `kernel` on the device's current stream; no-op for zero blocks. Errors name `name`.
template <class... Parameters, class... Arguments>
void launch(const char* name, const LaunchShape& shape, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (shape.blocks.x == 0 || shape.blocks.y == 0 || shape.blocks.z == 0) return;
  const DeviceScope scope(shape.device);
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

/// Grid size with one thread per `per_thread` of `items`, limited to the maximum grid; kernels loop with a
/// grid stride over the rest.
inline unsigned blocks_for(int64_t items, int per_thread = 1, int threads = kBlockThreads) {
  return static_cast<unsigned>(
      std::min<int64_t>(ceil_div(items, static_cast<int64_t>(threads) * per_thread), 0x7fffffff));
}

/// N values loaded and stored together; aligned to 16 bytes if they fill as many.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T value[N];
  __host__ __device__ T& operator[](int i) { return value[i]; }
  __host__ __device__ const T& operator[](int i) const { return value[i]; }
};

/// Values per 16-byte vector access.
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

/// True if all addresses allow 16-byte accesses; row views may start anywhere. Null counts as aligned.
template <class... Pointers>
bool aligned_to_16(const Pointers*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

}  // namespace adj::cuda
