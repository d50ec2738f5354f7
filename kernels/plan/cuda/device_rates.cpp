#include <adjoint/core/cuda/stream.h>
#include <adjoint/kernels/plan/tile_cost.h>

namespace adj::kernels::cuda {

DeviceRates device_rates(Device device) {
  const auto& gpu = adj::cuda::properties(device.index);
  return {.cycles = gpu.multiprocessors * gpu.clock_ghz,
          .l2 = static_cast<double>(gpu.l2_bytes) / (1 << 20) * gpu.clock_ghz,
          .memory = gpu.memory_bytes_per_ns};
}

}  // namespace adj::kernels::cuda
