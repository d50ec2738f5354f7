#include <adjoint/core/detail/nccl_transport.h>

namespace adj::detail {

std::string nccl_unavailable_reason() { return "Adjoint was built without CUDA"; }

std::string gpu_address(Device device) { return device.str(); }

std::shared_ptr<Transport> nccl_transport(std::shared_ptr<Transport>, Device device,
                                          std::span<const Device>) {
  fail("{} exchanges nothing through NCCL: {}", device.str(), nccl_unavailable_reason());
}

}  // namespace adj::detail
