#pragma once

#include <adjoint/core/device.h>
#include <adjoint/core/error.h>

// The only place that asks how this library was built: calls `function` of namespace cpu or cuda, by the
// device. In a build without CUDA a CUDA device never gets this far (core/no_cuda/), and nothing of namespace
// cuda is named.
#if ADJOINT_WITH_CUDA
#define ADJ_DISPATCH(device, function, ...) \
  ((device).is_cuda() ? cuda::function(__VA_ARGS__) : cpu::function(__VA_ARGS__))
#else
#define ADJ_DISPATCH(device, function, ...) (::adj::require_available(device), cpu::function(__VA_ARGS__))
#endif
