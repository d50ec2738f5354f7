#pragma once

#include <adjoint/build.h>
#include <adjoint/core/device.h>
#include <adjoint/core/error.h>

// The only build-dependent dispatch: calls `function` of namespace cpu or cuda by device. A build without
// CUDA rejects CUDA devices earlier (core/no_cuda/) and never names namespace cuda.
#if ADJOINT_WITH_CUDA
#define ADJ_DISPATCH(device, function, ...) \
  ((device).is_cuda() ? cuda::function(__VA_ARGS__) : cpu::function(__VA_ARGS__))
#else
#define ADJ_DISPATCH(device, function, ...) (::adj::require_available(device), cpu::function(__VA_ARGS__))
#endif
