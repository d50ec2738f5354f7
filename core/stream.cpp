#include <adjoint/core/capture.h>
#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>

#include <array>
#include <atomic>
#include <utility>

namespace adj {

namespace {

// By device index; the CPU has one stream.
thread_local std::array<uint8_t, detail::kMaxDevices> current_of_device{};

uint8_t& current_of(Device device) {
  ADJ_CHECK(device.index >= 0 && device.index < detail::kMaxDevices, "device {}: expected an index below {}",
            device.str(), detail::kMaxDevices);
  return current_of_device[static_cast<size_t>(device.index)];
}

thread_local uint64_t used_devices = 0;
std::atomic<uint64_t> with_streams{0};

void refuse_in_capture(const char* what, Device device) {
  ADJ_CHECK(!capturing(device), "{}: a step is being captured on {}, and its work runs only at replay", what,
            device.str());
}

}  // namespace

namespace detail {

uint64_t devices_with_streams() { return with_streams.load(); }

int current_stream(Device device) {
  if (device.is_cpu()) return 0;
  const int stream = current_of(device);
  used_devices |= uint64_t{1} << device.index;
  return stream;
}

uint64_t exchange_used_devices(uint64_t used) { return std::exchange(used_devices, used); }

}  // namespace detail

Stream Stream::make(Device device) {
  DeviceRuntime& device_runtime = runtime(device);
  if (device.is_cuda()) with_streams.fetch_or(uint64_t{1} << device.index);
  return {device, device_runtime.make_stream()};
}

Stream Stream::current(Device device) { return {device, detail::current_stream(device)}; }

void Stream::synchronize() const {
  refuse_in_capture("synchronize", device_);
  runtime(device_).synchronize_stream(id_);
}

void Stream::wait(const Stream& other) const {
  ADJ_CHECK(device_ == other.device_, "wait: a stream of {} cannot wait for one of {}", device_.str(),
            other.device_.str());
  refuse_in_capture("wait", device_);
  if (id_ == other.id_) return;
  DeviceRuntime& device_runtime = runtime(device_);
  device_runtime.order(device_runtime.stream_handle(id_), device_runtime.stream_handle(other.id_));
}

StreamScope::StreamScope(const Stream& stream) : outer_(Stream::current(stream.device())) {
  if (stream == outer_) return;
  ADJ_CHECK(!capturing(stream.device()),
            "stream scope: a step is being captured on {}, and runs on one stream as a whole",
            stream.device().str());
  current_of(stream.device()) = static_cast<uint8_t>(stream.id());
}

StreamScope::~StreamScope() {
  if (outer_.device().is_cuda()) current_of(outer_.device()) = static_cast<uint8_t>(outer_.id());
}

}  // namespace adj
