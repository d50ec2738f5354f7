#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/device.h>
#include <adjoint/core/error.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include <cuda.h>
#include <dlfcn.h>

namespace adj::cuda {

namespace {

using detail::kMaxDevices;
using detail::kMaxStreams;

struct DeviceState {
  std::once_flag once;
  std::array<Branch, kMaxStreams> streams;  // [0] is the default stream, others on demand; never closed
  std::atomic<int> count{1};
  std::mutex mutex;    // guards stream creation
  int handed_out = 0;  // number returned by make_stream() so far
  DeviceProperties properties;
};

/// The branch that this thread works on, of one device; -1 outside of a BranchScope.
thread_local int branched_index = -1;
thread_local Branch branched;

/// What the runtime has no calls for; it has loaded the driver's library.
class Driver {
 public:
  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

  /// Whether the process has a context on the device; true if that is unknown.
  bool uses(int device) const {
    unsigned flags = 0;
    int active = 1;
    return state_ == nullptr || state_(device, &flags, &active) != CUDA_SUCCESS || active != 0;
  }
  /// False if that is impossible.
  bool push(int device) const {
    static auto* contexts = new std::array<std::atomic<CUcontext>, kMaxDevices>;
    std::atomic<CUcontext>& kept = contexts->at(static_cast<size_t>(device));
    CUcontext context = kept.load(std::memory_order_acquire);
    if (context == nullptr) {
      if (retain_ == nullptr || push_ == nullptr || pop_ == nullptr) return false;
      if (retain_(&context, device) != CUDA_SUCCESS) return false;
      kept.store(context, std::memory_order_release);
    }
    return push_(context) == CUDA_SUCCESS;
  }
  void pop() const {
    CUcontext context = nullptr;
    (void)pop_(&context);
  }

 private:
  template <class Function>
  void find(Function*& function, const char* name) {
    function = library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
  }
  Driver() : library_(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    find(state_, "cuDevicePrimaryCtxGetState");
    find(retain_, "cuDevicePrimaryCtxRetain");
    find(push_, "cuCtxPushCurrent_v2");
    find(pop_, "cuCtxPopCurrent_v2");
  }

  void* library_;
  decltype(cuDevicePrimaryCtxGetState)* state_;
  decltype(cuDevicePrimaryCtxRetain)* retain_;
  decltype(cuCtxPushCurrent)* push_;
  decltype(cuCtxPopCurrent)* pop_;
};

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  ADJ_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index));
  return value;
}

void open(DeviceState& state, int index) {
  require_available(Device::cuda(index));
  const DeviceScope device_scope(index);
  const RelaxedCapture relaxed;
  cudaDeviceProp names;
  ADJ_CUDA_CHECK(cudaGetDeviceProperties(&names, index));
  auto& properties = state.properties;
  properties.name = names.name;
  properties.major = attribute(cudaDevAttrComputeCapabilityMajor, index);
  properties.minor = attribute(cudaDevAttrComputeCapabilityMinor, index);
  properties.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, index);
  properties.l2_bytes = attribute(cudaDevAttrL2CacheSize, index);
  properties.clock_ghz = attribute(cudaDevAttrClockRate, index) / 1e6;
  // Two transfers per clock, of bits.
  properties.memory_bytes_per_ns = 2.0 / 8.0 * attribute(cudaDevAttrMemoryClockRate, index) / 1e6 *
                                   attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  properties.max_shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  // Since CUDA 12.4 captured graphs keep such dependencies too.
  int driver = 0;
  ADJ_CUDA_CHECK(cudaDriverGetVersion(&driver));
  properties.overlapping = properties.major >= 9 && driver >= 12040;
  state.streams[0] = open_branch(0);
}

DeviceState& state_of(int index) {
  // Never destroyed: tensors with static storage may outlive it.
  static auto* states = new std::array<DeviceState, kMaxDevices>;
  ADJ_CHECK(index >= 0 && index < kMaxDevices, "device cuda:{}: expected an index below {}", index,
            kMaxDevices);
  DeviceState& state = (*states)[static_cast<size_t>(index)];
  std::call_once(state.once, open, state, index);
  return state;
}

}  // namespace

// cudaSetDevice back to a device that the process does not use would create its context, which takes hundreds
// of MB. There our context is pushed instead, which leaves the runtime's choice of a device as it is.
DeviceScope::DeviceScope(int index) : index_(index) {
  ADJ_CUDA_CHECK(cudaGetDevice(&outer_));
  if (outer_ == index) return;
  const Driver& driver = Driver::get();
  pushed_ = !driver.uses(outer_) && driver.push(index);
  if (!pushed_) ADJ_CUDA_CHECK(cudaSetDevice(index));
}

DeviceScope::~DeviceScope() {
  if (outer_ == index_) return;
  if (pushed_) {
    Driver::get().pop();
  } else {
    (void)cudaSetDevice(outer_);
  }
}

Branch open_branch(int priority) {
  Branch branch;
  ADJ_CUDA_CHECK(cudaStreamCreateWithPriority(&branch.stream, cudaStreamNonBlocking, priority));
  void* counters = nullptr;
  ADJ_CUDA_CHECK(cudaMalloc(&counters, kArrivalCounters * sizeof(unsigned)));
  branch.counters = static_cast<unsigned*>(counters);
  ADJ_CUDA_CHECK(cudaMemsetAsync(counters, 0, kArrivalCounters * sizeof(unsigned), branch.stream));
  return branch;
}

void close_branch(const Branch& branch) noexcept {
  (void)cudaStreamDestroy(branch.stream);
  (void)cudaFree(branch.counters);
}

BranchScope::BranchScope(int index, const Branch& branch)
    : outer_index_(std::exchange(branched_index, index)), outer_(std::exchange(branched, branch)) {}

BranchScope::~BranchScope() {
  branched_index = outer_index_;
  branched = outer_;
}

cudaStream_t current_stream(int index) {
  if (branched_index == index) [[unlikely]]
    return branched.stream;
  if (const detail::Recorder* recording = detail::recorder(); recording != nullptr) [[unlikely]] {
    ADJ_CHECK(recording->device() == Device::cuda(index),
              "a step is being captured on {}, and work on cuda:{} cannot be part of it",
              recording->device().str(), index);
    return static_cast<cudaStream_t>(recording->stream());
  }
  return stream_of(index, detail::current_stream(Device::cuda(index)));
}

cudaStream_t stream_of(int index, int number) {
  return state_of(index).streams[static_cast<size_t>(number)].stream;
}

int make_stream(int index) {
  DeviceState& state = state_of(index);
  const DeviceScope device_scope(index);
  const RelaxedCapture relaxed;
  const std::lock_guard lock(state.mutex);
  const int number = 1 + state.handed_out % (kMaxStreams - 1);
  if (number == state.count) {
    state.streams[static_cast<size_t>(number)] = open_branch(0);
    ++state.count;
  }
  ++state.handed_out;  // if opening throws, the next caller tries again
  return number;
}

int num_streams(int index) { return state_of(index).count; }

const DeviceProperties& properties(int index) { return state_of(index).properties; }
unsigned* arrival_counters(int index) {
  if (branched_index == index) return branched.counters;
  return state_of(index).streams[static_cast<size_t>(detail::current_stream(Device::cuda(index)))].counters;
}

}  // namespace adj::cuda
