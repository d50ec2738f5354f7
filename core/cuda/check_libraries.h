#pragma once

#include <cublasLt.h>

namespace adj::cuda {

[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* call, const char* file, int line);

inline void check(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    throw_cublas_error(status, call, file, line);
}

}  // namespace adj::cuda

/// Throws adj::Error with the call's text and location unless it returns CUBLAS_STATUS_SUCCESS.
#define ADJ_CUBLAS_CHECK(...) ::adj::cuda::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
