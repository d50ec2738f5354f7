#include <adjoint/build.h>
#include <adjoint/core/device.h>
#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/text.h>

namespace adj {

std::string_view version() { return ADJOINT_VERSION; }

Device Device::best() {
  for (int index = 0; index < detail::cuda_device_count(); ++index)
    if (detail::cuda_unavailable_reason(index).empty()) return cuda(index);
  return cpu();
}

Device Device::parse(std::string_view text) {
  if (text == "cpu") return cpu();
  const int index = text == "cuda"              ? best().index
                    : text.starts_with("cuda:") ? number_in<int>(text.substr(5)).value_or(-1)
                                                : -1;
  if (index < 0) usage_fail("unknown device '{}': expected cpu, cuda or cuda:INDEX", text);
  const Device device = cuda(index);
  require_available(device);
  return device;
}

std::string Device::str() const { return is_cpu() ? "cpu" : fmt::format("cuda:{}", index); }

int cuda_device_count() { return Device::best().is_cuda() ? detail::cuda_device_count() : 0; }

void require_available(Device device) {
  if (device.is_cpu()) return;
  ADJ_CHECK(device.index >= 0, "device {}: expected an index of 0 or more", device.str());
  const std::string reason = detail::cuda_unavailable_reason(device.index);
  ADJ_CHECK(reason.empty(), "device {} is not available: {}", device.str(), reason);
  const int count = detail::cuda_device_count();
  ADJ_CHECK(device.index < count, "device {} is not available: this machine has {} GPU{} (cuda:0 to cuda:{})",
            device.str(), count, count == 1 ? "" : "s", count - 1);
}

void synchronize(Device device) { runtime(device).synchronize(); }

}  // namespace adj
