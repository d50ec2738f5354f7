#pragma once

#include <adjoint/core/group.h>

#include <memory>
#include <span>
#include <string>

namespace adj::detail {

// Defined in core/cuda/, or in core/no_cuda/ for builds without CUDA.

/// Why GPUs cannot exchange tensors through NCCL (built without CUDA, not installed, too old); empty if they
/// can.
std::string nccl_unavailable_reason();

/// Whether ranks with these GPUs, empty for a CPU, exchange through NCCL, which takes one rank a GPU: they
/// differ, and it is there; a line says why it is not.
bool exchange_through_nccl(std::span<const std::string> gpus);

/// Tells a GPU from the others of its host, whatever its number in this process.
std::string gpu_address(Device device);

/// Moves tensors between GPUs, one a rank, through NCCL; those on the host, and what the ranks agree on, by
/// `host`. All ranks call it together. An exchange is queued on the current stream and may be captured; a
/// captured one is agreed on once. If a rank fails while others wait for it on their GPUs, these are released
/// within a second. `devices`: of all ranks, if they are threads of this process; large blocks then go by the
/// devices' copy engines, where these reach each other.
std::shared_ptr<Transport> nccl_transport(std::shared_ptr<Transport> host, Device device,
                                          std::span<const Device> devices = {});

}  // namespace adj::detail
