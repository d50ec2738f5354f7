#pragma once

#include <adjoint/core/detail/dispatch.h>
#include <adjoint/core/device.h>

namespace adj::kernels {

/// What a device does in a nanosecond at its highest clocks, from its properties.
struct DeviceRates {
  double cycles = 0.0;  ///< of all multiprocessors together
  double l2 = 0.0;      ///< MiB of L2 times clock: its slices, which its bandwidth grows with
  double memory = 0.0;  ///< bytes
};

namespace cpu {
inline DeviceRates device_rates(Device) { return {}; }
}  // namespace cpu
namespace cuda {
DeviceRates device_rates(Device device);
}
inline DeviceRates device_rates(Device device) { return ADJ_DISPATCH(device, device_rates, device); }

}  // namespace adj::kernels
