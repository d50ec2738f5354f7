#pragma once

#include <cuda_runtime_api.h>

namespace adj::cuda {

/// Throws adj::Error with CUDA's error, the call and its location. `file` may be a full path.
[[noreturn]] void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line);
[[noreturn]] void throw_launch_error(cudaError_t status, const char* kernel);

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(status, call, file, line);
}

/// After a launch: throws adj::Error naming the kernel if it could not be queued.
inline void check_launch(cudaError_t status, const char* kernel) {
  if (status != cudaSuccess) [[unlikely]]
    throw_launch_error(status, kernel);
}

/// Lowest compute capability that this build has code for, times ten: 80 for 8.0. Set by nvcc in
/// architecture.cu.
int oldest_architecture();

}  // namespace adj::cuda

/// Throws adj::Error with the call's text and location unless it returns cudaSuccess.
#define ADJ_CUDA_CHECK(...) ::adj::cuda::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
