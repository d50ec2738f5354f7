#include <adjoint/core/detail/dispatch.h>
#include <adjoint/kernels/plan/device_rates.h>

namespace adj::kernels {
namespace cpu {
namespace {
DeviceRates device_rates(Device) { return {}; }
}  // namespace
}  // namespace cpu

DeviceRates device_rates(Device device) { return ADJ_DISPATCH(device, device_rates, device); }

}  // namespace adj::kernels
