#include <adjoint/core/detail/mpi_transport.h>
#include <adjoint/core/detail/nccl_transport.h>
#include <adjoint/core/group.h>
#include <adjoint/core/runtime.h>

#include <array>

#include <unistd.h>

namespace adj {

namespace {

/// Tells this rank's GPU from those of all other ranks; empty for a CPU.
std::string gpu_of(Device device) {
  if (!device.is_cuda()) return {};
  std::array<char, 256> host{};
  (void)gethostname(host.data(), host.size() - 1);
  return fmt::format("{} {}", host.data(), detail::gpu_address(device));
}

}  // namespace

void run_process(Device device, const std::function<void(const Group&)>& run) {
  std::shared_ptr<Transport> transport = detail::mpi_transport();
  try {
    const std::shared_ptr<void> current = runtime(device).make_current();
    if (detail::exchange_through_nccl(Group(transport).gather(gpu_of(device))))
      transport = detail::nccl_transport(std::move(transport), device);
    run(Group(std::move(transport), device));
  } catch (...) {
    detail::leave_mpi();
    throw;
  }
}

}  // namespace adj
