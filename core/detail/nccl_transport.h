#pragma once

#include <adjoint/core/group.h>

#include <memory>
#include <string>

namespace adj::detail {

// Defined in core/cuda/, or in core/no_cuda/ for builds without CUDA.

/// Why GPUs cannot exchange tensors through NCCL (built without CUDA, not installed, too old); empty if they
/// can.
std::string nccl_unavailable_reason();

/// Moves tensors between GPUs, one a rank, through NCCL; those on the host, and what the ranks agree on, by
/// `host`. All ranks call it together. An exchange is queued on the current stream and may be captured; a
/// captured one is agreed on once. If a rank fails while others wait for it on their GPUs, these are released
/// within a second.
std::shared_ptr<Transport> nccl_transport(std::shared_ptr<Transport> host, Device device);

}  // namespace adj::detail
