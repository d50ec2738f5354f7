#include <adjoint/core/cuda/fault.h>
#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/device.h>
#include <adjoint/core/error.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>

namespace adj::cuda {

namespace {

constexpr int kFaults = 32;

struct Slot {
  unsigned long long first;
  long long limit;
};
using Slots = std::array<Slot, kFaults>;

struct Name {
  const char* op;
  const char* name;
};

struct DeviceFaults {
  std::once_flag once;
  Slot* slots = nullptr;           // on the device
  volatile int* raised = nullptr;  // on the host
};

// Never destroyed, like the streams.
std::mutex& mutex() {
  static auto* one = new std::mutex;
  return *one;
}

struct Names {
  std::array<Name, kFaults> entries{};  // never changed below `count`
  std::atomic<int> count = 0;
};
Names& names() {
  static auto* all = new Names;
  return *all;
}

void clear(const DeviceFaults& faults, cudaStream_t stream) {
  *faults.raised = 0;
  Slots none;
  none.fill({kNoFault, 0});
  ADJ_CUDA_CHECK(cudaMemcpyAsync(faults.slots, none.data(), sizeof none, cudaMemcpyHostToDevice, stream));
  ADJ_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void open(DeviceFaults& faults, int index) {
  const DeviceScope device_scope(index);
  const RelaxedCapture relaxed;
  void *slots = nullptr, *raised = nullptr;
  ADJ_CUDA_CHECK(cudaMalloc(&slots, sizeof(Slots)));
  ADJ_CUDA_CHECK(cudaHostAlloc(&raised, sizeof(int), cudaHostAllocPortable | cudaHostAllocMapped));
  faults.slots = static_cast<Slot*>(slots);
  faults.raised = static_cast<volatile int*>(raised);
  clear(faults, stream_of(index, 0));
}

DeviceFaults& faults_of(int index) {
  static auto* all = new std::array<DeviceFaults, detail::kMaxDevices>;
  DeviceFaults& faults = all->at(static_cast<size_t>(index));
  std::call_once(faults.once, [&] { open(faults, index); });
  return faults;
}

/// -1 if it is not known yet.
int find(const char* op, const char* name) {
  const Names& known = names();
  const int count = known.count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i)
    if (known.entries[static_cast<size_t>(i)].op == std::string_view(op) &&
        known.entries[static_cast<size_t>(i)].name == std::string_view(name))
      return i;
  return -1;
}

/// Asked for every kernel that may report one: known names without a lock.
int number_of(const char* op, const char* name) {
  if (const int number = find(op, name); number >= 0) return number;
  const std::lock_guard lock(mutex());
  if (const int number = find(op, name); number >= 0) return number;
  Names& known = names();
  const int number = known.count;
  ADJ_CHECK(number < kFaults, "{}: more than {} kinds of faults", op, kFaults);
  known.entries[static_cast<size_t>(number)] = {op, name};
  known.count.store(number + 1, std::memory_order_release);
  return number;
}

}  // namespace

Fault fault_of(int index, const char* op, const char* name) {
  const DeviceFaults& faults = faults_of(index);
  Slot& slot = faults.slots[number_of(op, name)];  // address arithmetic only: this is device memory
  return {&slot.first, &slot.limit, faults.raised};
}

volatile int* faults_raised(int index) { return faults_of(index).raised; }

void throw_fault(int index) {
  const DeviceFaults& faults = faults_of(index);
  const DeviceScope device_scope(index);
  Slots found;
  {
    const std::lock_guard lock(mutex());
    if (*faults.raised == 0) return;  // another thread reports it
    const cudaStream_t stream = stream_of(index, detail::current_stream(Device::cuda(index)));
    ADJ_CUDA_CHECK(cudaMemcpyAsync(found.data(), faults.slots, sizeof found, cudaMemcpyDeviceToHost, stream));
    ADJ_CUDA_CHECK(cudaStreamSynchronize(stream));
    clear(faults, stream);
  }
  const Names& known = names();
  for (size_t i = 0; i < static_cast<size_t>(known.count); ++i)
    if (found[i].first != kNoFault)
      fail("{}: {}[{}] is {}, expected [0, {}) (found on cuda:{})", known.entries[i].op,
           known.entries[i].name, found[i].first >> 32, static_cast<int32_t>(found[i].first & 0xffffffffu),
           found[i].limit, index);
}

}  // namespace adj::cuda
