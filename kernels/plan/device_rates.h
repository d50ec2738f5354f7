#pragma once

#include <adjoint/core/device.h>

namespace adj::kernels {

/// What a device does in a nanosecond at its highest clocks, from its properties; zeros for a CPU.
struct DeviceRates {
  double cycles = 0.0;  ///< of all multiprocessors together
  double l2 = 0.0;      ///< MiB of L2 times clock: its slices, which its bandwidth grows with
  double memory = 0.0;  ///< bytes
};

DeviceRates device_rates(Device device);  ///< throws Error if it is not available

namespace cuda {
DeviceRates device_rates(Device device);
}  // namespace cuda

}  // namespace adj::kernels
