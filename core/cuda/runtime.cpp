#include <adjoint/core/cuda/check.h>
#include <adjoint/core/cuda/fault.h>
#include <adjoint/core/cuda/staging.h>
#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/error.h>
#include <adjoint/core/runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace adj {

namespace {

constexpr size_t kSmallSlot = size_t{64} << 10;
constexpr int kSmallSlots = 32;
constexpr size_t kLargeSlot = size_t{4} << 20;
constexpr int kLargeSlots = 4;

class CudaRuntime final : public DeviceRuntime {
 public:
  explicit CudaRuntime(int index) : index_(index) { (void)cuda::num_streams(index); }

  void* allocate(size_t bytes) override {
    return allocate_by("cudaMalloc", [&](void** memory) { return cudaMalloc(memory, bytes); });
  }
  void* allocate_pinned(size_t bytes) override {
    return allocate_by("cudaHostAlloc", [&](void** memory) {
      return cudaHostAlloc(memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    });
  }
  void release(void* pointer, size_t) override { release_by(cudaFree, pointer); }
  void release_pinned(void* pointer) override { release_by(cudaFreeHost, pointer); }

  void memory_info(size_t* free_bytes, size_t* total_bytes) override {
    const cuda::DeviceScope device_scope(index_);
    const cuda::RelaxedCapture relaxed;
    ADJ_CUDA_CHECK(cudaMemGetInfo(free_bytes, total_bytes));
  }

  void copy_from_host(void* device_pointer, const void* host, size_t bytes) override {
    if (bytes == 0) return;
    ADJ_CHECK(!cuda::capturing(index_),
              "copy from the host: a step is being captured on cuda:{}, and every replay would copy the same "
              "values; make the tensor before the step",
              index_);
    const cuda::DeviceScope device_scope(index_);
    const cudaStream_t stream = cuda::current_stream(index_);
    Staging& staging = current_staging();
    const std::lock_guard lock(staging.mutex);
    cuda::StagingRing& ring = staging.ring_for(bytes);
    for (size_t done = 0; done < bytes; done += ring.slot_bytes()) {
      const size_t part = std::min(ring.slot_bytes(), bytes - done);
      cuda::StagingRing::Slot& slot = ring.acquire();
      std::memcpy(slot.data, static_cast<const char*>(host) + done, part);
      ADJ_CUDA_CHECK(cudaMemcpyAsync(static_cast<char*>(device_pointer) + done, slot.data, part,
                                     cudaMemcpyHostToDevice, stream));
      cuda::StagingRing::record(slot, stream);
    }
  }

  void copy_to_host(void* host, const void* device_pointer, size_t bytes) override {
    if (bytes == 0) return;
    ADJ_CHECK(!cuda::capturing(index_),
              "copy to the host: a step is being captured on cuda:{}, and its tensors have no values yet; "
              "read them after the step",
              index_);
    const cuda::DeviceScope device_scope(index_);
    const cudaStream_t stream = cuda::current_stream(index_);
    Staging& staging = current_staging();
    const std::lock_guard lock(staging.mutex);
    cuda::StagingRing& ring = staging.ring_for(bytes);
    const size_t unit = ring.slot_bytes(), parts = (bytes + unit - 1) / unit;
    std::array<cuda::StagingRing::Slot*, kSmallSlots> slots{};
    const auto size_of_part = [&](size_t part) { return std::min(unit, bytes - part * unit); };
    // The copy of a part overlaps with reading earlier parts from their slots.
    const size_t depth = ring.slots();
    for (size_t part = 0; part < parts + depth; ++part) {
      if (part >= depth && part - depth < parts) {
        const size_t ready = part - depth;
        cuda::StagingRing::Slot& slot = *slots[ready % depth];
        cuda::StagingRing::wait(slot);
        std::memcpy(static_cast<char*>(host) + ready * unit, slot.data, size_of_part(ready));
      }
      if (part < parts) {
        cuda::StagingRing::Slot& slot = ring.acquire();
        slots[part % depth] = &slot;
        ADJ_CUDA_CHECK(cudaMemcpyAsync(slot.data, static_cast<const char*>(device_pointer) + part * unit,
                                       size_of_part(part), cudaMemcpyDeviceToHost, stream));
        cuda::StagingRing::record(slot, stream);
      }
    }
    cuda::check_faults(index_);
  }

  void copy_within(void* target, const void* source, size_t bytes) override {
    if (bytes == 0) return;
    const cuda::DeviceScope device_scope(index_);
    ADJ_CUDA_CHECK(
        cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, cuda::current_stream(index_)));
  }

  void copy_from_peer(void* target, Device peer, const void* source, size_t bytes) override {
    if (bytes == 0) return;
    const auto handle = [](cudaStream_t stream) { return reinterpret_cast<uintptr_t>(stream); };
    const cudaStream_t stream = cuda::current_stream(index_), other = cuda::current_stream(peer.index);
    runtime(peer).order(handle(stream), handle(other));
    {
      const cuda::DeviceScope device_scope(index_);
      (void)open_peer(peer);  // without it copies go through the host
      ADJ_CUDA_CHECK(cudaMemcpyPeerAsync(target, index_, source, peer.index, bytes, stream));
    }
    order(handle(other), handle(stream));
  }

  bool open_peer(Device peer) override {
    if (peer.is_cpu()) return false;
    Peer& other = peers_[static_cast<size_t>(peer.index)];
    std::call_once(other.asked, [&] {
      const cuda::DeviceScope device_scope(index_);
      const cuda::RelaxedCapture relaxed;
      int possible = 0;
      ADJ_CUDA_CHECK(cudaDeviceCanAccessPeer(&possible, index_, peer.index));
      if (possible == 0) return;
      const cudaError_t status = cudaDeviceEnablePeerAccess(peer.index, 0);
      if (status != cudaErrorPeerAccessAlreadyEnabled)
        cuda::check(status, "cudaDeviceEnablePeerAccess", __FILE__, __LINE__);
      (void)cudaGetLastError();  // clears it for the next call
      other.readable = true;
    });
    return other.readable;
  }

  void fill_bytes(void* pointer, int byte, size_t bytes) override {
    if (bytes == 0) return;
    const cuda::DeviceScope device_scope(index_);
    ADJ_CUDA_CHECK(cudaMemsetAsync(pointer, byte, bytes, cuda::current_stream(index_)));
  }

  void synchronize() override {
    ADJ_CHECK(!cuda::capturing(index_),
              "synchronize: a step is being captured on cuda:{}, and its work runs only at replay", index_);
    const cuda::DeviceScope device_scope(index_);
    for (int number = 0; number < cuda::num_streams(index_); ++number) synchronize_stream(number);
  }

  void synchronize_device() override {
    const cuda::DeviceScope device_scope(index_);
    ADJ_CUDA_CHECK(cudaDeviceSynchronize());
  }

  int make_stream() override {
    const int stream = cuda::make_stream(index_);
    order(stream_handle(stream), stream_handle(0));
    return stream;
  }

  void synchronize_stream(int stream) override {
    const cuda::DeviceScope device_scope(index_);
    ADJ_CUDA_CHECK(cudaStreamSynchronize(cuda::stream_of(index_, stream)));
  }

  uintptr_t stream_handle(int stream) override {
    return reinterpret_cast<uintptr_t>(cuda::stream_of(index_, stream));
  }

  void order(uintptr_t later, uintptr_t earlier) override {
    const cuda::DeviceScope device_scope(index_);
    const cuda::RelaxedCapture relaxed;
    cudaEvent_t event = take_event();
    ADJ_CUDA_CHECK(cudaEventRecord(event, reinterpret_cast<cudaStream_t>(earlier)));
    ADJ_CUDA_CHECK(cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(later), event, 0));
    give_event(event);  // waits refer to the state recorded now, so the event can be reused
  }

  std::shared_ptr<void> make_current() override { return std::make_shared<cuda::DeviceScope>(index_); }

  void* mark(int stream) noexcept override {
    try {
      const cuda::DeviceScope device_scope(index_);
      const cuda::RelaxedCapture relaxed;
      cudaEvent_t event = take_event();
      ADJ_CUDA_CHECK(cudaEventRecord(event, cuda::stream_of(index_, stream)));
      return event;
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  bool passed(void* mark, bool wait) noexcept override {
    if (mark == nullptr) return true;
    auto* event = static_cast<cudaEvent_t>(mark);
    const cuda::RelaxedCapture relaxed;
    const cudaError_t status = wait ? cudaEventSynchronize(event) : cudaEventQuery(event);
    if (status != cudaSuccess) (void)cudaGetLastError();
    if (status == cudaErrorNotReady) return false;
    give_event(event);
    return true;
  }

  std::shared_ptr<void> allow_in_capture() override { return std::make_shared<cuda::RelaxedCapture>(); }

 private:
  /// Null if there is not enough memory: the caller handles it.
  template <class F>
  void* allocate_by(const char* name, F&& call) {
    const cuda::DeviceScope device_scope(index_);
    const cuda::RelaxedCapture relaxed;
    void* memory = nullptr;
    const cudaError_t status = call(&memory);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // clears it for the next call
      return nullptr;
    }
    cuda::check(status, name, __FILE__, __LINE__);
    return memory;
  }

  // Called from destructors, at process exit or after a kernel fault too: errors cannot be handled here, and
  // a broken device is reported by the next call.
  void release_by(cudaError_t (*call)(void*), void* pointer) {
    const cuda::RelaxedCapture relaxed;
    try {
      const cuda::DeviceScope device_scope(index_);
      (void)call(pointer);
    } catch (const std::exception&) {
    }
    (void)cudaGetLastError();
  }

  // One per stream, so that threads that wait for their copies do not block those on other streams.
  struct Staging {
    std::mutex mutex;
    std::optional<cuda::StagingRing> small, large;

    cuda::StagingRing& ring_for(size_t bytes) {
      auto& ring = bytes <= kSmallSlot ? small : large;
      if (!ring) {
        if (bytes <= kSmallSlot) {
          ring.emplace(kSmallSlot, kSmallSlots);
        } else {
          ring.emplace(kLargeSlot, kLargeSlots);
        }
      }
      return *ring;
    }
  };

  Staging& current_staging() {
    return staging_[static_cast<size_t>(detail::current_stream(Device::cuda(index_)))];
  }

  cudaEvent_t take_event() {
    const std::lock_guard lock(events_mutex_);
    if (events_.empty()) {
      cudaEvent_t event = nullptr;
      ADJ_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      return event;
    }
    cudaEvent_t event = events_.back();
    events_.pop_back();
    return event;
  }
  void give_event(cudaEvent_t event) {
    const std::lock_guard lock(events_mutex_);
    events_.push_back(event);
  }

  int index_;
  std::array<Staging, detail::kMaxStreams> staging_;
  struct Peer {
    std::once_flag asked;
    bool readable = false;  // by this device
  };
  std::array<Peer, detail::kMaxDevices> peers_;
  std::mutex events_mutex_;
  std::vector<cudaEvent_t> events_;  // free events
};

struct Availability {
  std::string reason;                // why no GPU can be used
  std::vector<std::string> reasons;  // or why each cannot; empty if it can
};

Availability look_for_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) (void)cudaGetLastError();
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    return {"the NVIDIA driver finds no GPU", {}};
  if (status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary) {
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    if (driver == 0 || status == cudaErrorStubLibrary) return {"no NVIDIA driver is installed", {}};
    return {fmt::format(
                "the NVIDIA driver is too old: it supports CUDA up to {}.{}, Adjoint was built with {}.{}",
                driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10),
            {}};
  }
  if (status != cudaSuccess)
    return {
        fmt::format("the CUDA runtime failed: {} ({})", cudaGetErrorName(status), cudaGetErrorString(status)),
        {}};
  Availability found;
  for (int index = 0; index < count; ++index) {
    int major = 0, minor = 0;
    ADJ_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
    ADJ_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index));
    const int oldest = cuda::oldest_architecture();
    found.reasons.push_back(
        10 * major + minor >= oldest
            ? ""
            : fmt::format("its compute capability is {}.{}, and this build needs {}.{} or newer", major,
                          minor, oldest / 10, oldest % 10));
  }
  return found;
}

const Availability& availability() {
  static const Availability found = look_for_devices();
  return found;
}

}  // namespace

namespace detail {

DeviceRuntime& cuda_runtime(int index) {
  struct Slot {
    std::once_flag once;
    std::unique_ptr<CudaRuntime> runtime;
  };
  static auto* slots = new std::array<Slot, kMaxDevices>;
  ADJ_CHECK(index >= 0 && index < kMaxDevices, "device cuda:{}: no such GPU", index);
  Slot& slot = (*slots)[static_cast<size_t>(index)];
  // Throws if the device is unavailable, each time.
  std::call_once(slot.once, [&] { slot.runtime = std::make_unique<CudaRuntime>(index); });
  return *slot.runtime;
}

std::string cuda_unavailable_reason(int index) {
  const auto& [reason, reasons] = availability();
  const auto position = static_cast<size_t>(index);
  return position < reasons.size() ? reasons[position] : reason;
}
int cuda_device_count() { return static_cast<int>(availability().reasons.size()); }

}  // namespace detail

}  // namespace adj
