#include <adjoint/core/cuda/architecture.h>
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

namespace adj {

namespace {

constexpr size_t kSmallSlot = size_t{64} << 10;
constexpr int kSmallSlots = 32;
constexpr size_t kLargeSlot = size_t{4} << 20;
constexpr int kLargeSlots = 4;

class CudaRuntime final : public DeviceRuntime {
 public:
  explicit CudaRuntime(int index) : index_(index), stream_(cuda::compute_stream(index)) {}

  void* allocate(size_t bytes) override {
    cuda::use_device(index_);
    const cuda::RelaxedCapture relaxed;
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // the caller knows what to do; the next call must not see it
      return nullptr;
    }
    cuda::check(status, "cudaMalloc", __FILE__, __LINE__);
    return memory;
  }

  // Comes from destructors, at the end of the process or after a kernel's fault too: nobody could do anything
  // about an error here, and a broken device tells the next call.
  void release(void* pointer, size_t) override {
    const cuda::RelaxedCapture relaxed;
    if (cudaSetDevice(index_) == cudaSuccess) (void)cudaFree(pointer);
    (void)cudaGetLastError();
  }

  void memory_info(size_t* free_bytes, size_t* total_bytes) override {
    cuda::use_device(index_);
    const cuda::RelaxedCapture relaxed;
    ADJ_CUDA_CHECK(cudaMemGetInfo(free_bytes, total_bytes));
  }

  void copy_from_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    ADJ_CHECK(
        !cuda::capturing(index_),
        "copy from the host: a step is being captured on cuda:{}, and would see the same values for ever; "
        "make the tensor before the step",
        index_);
    cuda::use_device(index_);
    const std::lock_guard lock(mutex_);
    cuda::StagingRing& ring = ring_for(bytes);
    for (size_t done = 0; done < bytes; done += ring.slot_bytes()) {
      const size_t part = std::min(ring.slot_bytes(), bytes - done);
      cuda::StagingRing::Slot& slot = ring.acquire();
      std::memcpy(slot.data, static_cast<const char*>(from) + done, part);
      ADJ_CUDA_CHECK(
          cudaMemcpyAsync(static_cast<char*>(to) + done, slot.data, part, cudaMemcpyHostToDevice, stream_));
      cuda::StagingRing::record(slot, stream_);
    }
  }

  void copy_to_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    ADJ_CHECK(
        !cuda::capturing(index_),
        "copy to the host: a step is being captured on cuda:{}, and has no values yet; read them after it",
        index_);
    cuda::use_device(index_);
    const std::lock_guard lock(mutex_);
    cuda::StagingRing& ring = ring_for(bytes);
    const size_t unit = ring.slot_bytes(), parts = (bytes + unit - 1) / unit;
    std::array<cuda::StagingRing::Slot*, kSmallSlots> slots{};
    const auto size_of_part = [&](size_t part) { return std::min(unit, bytes - part * unit); };
    // The copy of a part runs while earlier ones are taken out of their slots.
    const size_t depth = ring.slots();
    for (size_t part = 0; part < parts + depth; ++part) {
      if (part >= depth && part - depth < parts) {
        const size_t ready = part - depth;
        cuda::StagingRing::Slot& slot = *slots[ready % depth];
        cuda::StagingRing::wait(slot);
        std::memcpy(static_cast<char*>(to) + ready * unit, slot.data, size_of_part(ready));
      }
      if (part < parts) {
        cuda::StagingRing::Slot& slot = ring.acquire();
        slots[part % depth] = &slot;
        ADJ_CUDA_CHECK(cudaMemcpyAsync(slot.data, static_cast<const char*>(from) + part * unit,
                                       size_of_part(part), cudaMemcpyDeviceToHost, stream_));
        cuda::StagingRing::record(slot, stream_);
      }
    }
  }

  void copy_within(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    cuda::use_device(index_);
    ADJ_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda::current_stream(index_)));
  }

  void fill_bytes(void* pointer, int byte, size_t bytes) override {
    if (bytes == 0) return;
    cuda::use_device(index_);
    ADJ_CUDA_CHECK(cudaMemsetAsync(pointer, byte, bytes, cuda::current_stream(index_)));
  }

  void synchronize() override {
    ADJ_CHECK(
        !cuda::capturing(index_),
        "synchronize: a step is being captured on cuda:{}, and nothing of it runs before it is replayed",
        index_);
    cuda::use_device(index_);
    ADJ_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  cuda::StagingRing& ring_for(size_t bytes) {
    auto& ring = bytes <= kSmallSlot ? small_ : large_;
    if (!ring) {
      if (bytes <= kSmallSlot) {
        ring.emplace(kSmallSlot, kSmallSlots);
      } else {
        ring.emplace(kLargeSlot, kLargeSlots);
      }
    }
    return *ring;
  }

  int index_;
  cudaStream_t stream_;
  std::mutex mutex_;  // guards the rings
  std::optional<cuda::StagingRing> small_;
  std::optional<cuda::StagingRing> large_;
};

struct Availability {
  int count = 0;
  std::string reason;
};

Availability look_for_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) (void)cudaGetLastError();
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    return {0, "the NVIDIA driver finds no GPU"};
  if (status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary) {
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    if (driver == 0 || status == cudaErrorStubLibrary) return {0, "no NVIDIA driver is installed"};
    return {0, fmt::format(
                   "the NVIDIA driver is too old: it knows CUDA up to {}.{}, Adjoint was built with {}.{}",
                   driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10)};
  }
  if (status != cudaSuccess)
    return {0, fmt::format("the CUDA runtime failed: {} ({})", cudaGetErrorName(status),
                           cudaGetErrorString(status))};
  for (int index = 0; index < count; ++index) {
    int major = 0, minor = 0;
    ADJ_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
    ADJ_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index));
    const int oldest = cuda::oldest_architecture();
    // GPUs are numbered the fastest first; those before an older one can be used.
    if (10 * major + minor < oldest)
      return {index, index > 0
                         ? ""
                         : fmt::format("its compute capability is {}.{}, and this build needs {}.{} or newer",
                                       major, minor, oldest / 10, oldest % 10)};
  }
  return {count, ""};
}

const Availability& availability() {
  static const Availability found = look_for_devices();
  return found;
}

}  // namespace

namespace detail {

DeviceRuntime& cuda_runtime(int index) {
  static auto* mutex = new std::mutex;
  static auto* runtimes = new std::array<std::unique_ptr<CudaRuntime>, 64>;
  const std::lock_guard lock(*mutex);
  ADJ_CHECK(index >= 0 && index < static_cast<int>(runtimes->size()), "device cuda:{}: no such GPU", index);
  auto& slot = (*runtimes)[static_cast<size_t>(index)];
  if (!slot) slot = std::make_unique<CudaRuntime>(index);  // throws where the device is not available
  return *slot;
}

std::string cuda_unavailable_reason() { return availability().reason; }
int cuda_device_count() { return availability().count; }

}  // namespace detail

}  // namespace adj
