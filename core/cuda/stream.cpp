#include <adjoint/core/cuda/stream.h>
#include <adjoint/core/device.h>
#include <adjoint/core/error.h>

#include <array>
#include <mutex>

namespace adj::cuda {

namespace {

constexpr int kMaxDevices = 64;

struct DeviceState {
  std::once_flag once;
  cudaStream_t stream = nullptr;
  unsigned* counters = nullptr;
  DeviceProperties properties;
};

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  ADJ_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index));
  return value;
}

void open(DeviceState& state, int index) {
  require_available(Device::cuda(index));
  use_device(index);
  const RelaxedCapture relaxed;
  cudaDeviceProp names;
  ADJ_CUDA_CHECK(cudaGetDeviceProperties(&names, index));
  auto& properties = state.properties;
  properties.name = names.name;
  properties.major = attribute(cudaDevAttrComputeCapabilityMajor, index);
  properties.minor = attribute(cudaDevAttrComputeCapabilityMinor, index);
  properties.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, index);
  properties.l2_bytes = attribute(cudaDevAttrL2CacheSize, index);
  properties.max_shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  // Since CUDA 12.4 recorded graphs keep such dependencies too.
  int driver = 0;
  ADJ_CUDA_CHECK(cudaDriverGetVersion(&driver));
  properties.overlapping = properties.major >= 9 && driver >= 12040;
  ADJ_CUDA_CHECK(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking));
  void* counters = nullptr;
  ADJ_CUDA_CHECK(cudaMalloc(&counters, kArrivalCounters * sizeof(unsigned)));
  state.counters = static_cast<unsigned*>(counters);
  ADJ_CUDA_CHECK(cudaMemsetAsync(counters, 0, kArrivalCounters * sizeof(unsigned), state.stream));
}

DeviceState& state_of(int index) {
  // Never destroyed: tensors with static storage may outlive any order of destruction.
  static auto* states = new std::array<DeviceState, kMaxDevices>;
  ADJ_CHECK(index >= 0 && index < kMaxDevices, "device cuda:{}: expected an index below {}", index,
            kMaxDevices);
  DeviceState& state = (*states)[static_cast<size_t>(index)];
  std::call_once(state.once, open, state, index);
  return state;
}

struct Captured {
  int device = -1;
  cudaStream_t stream = nullptr;
};
thread_local Captured captured;

}  // namespace

void use_device(int index) {
  int current = -1;
  ADJ_CUDA_CHECK(cudaGetDevice(&current));
  if (current != index) ADJ_CUDA_CHECK(cudaSetDevice(index));
}

cudaStream_t compute_stream(int index) { return state_of(index).stream; }
cudaStream_t current_stream(int index) {
  return captured.device == index ? captured.stream : compute_stream(index);
}

CaptureStream::CaptureStream(int index, cudaStream_t stream) { captured = {index, stream}; }
CaptureStream::~CaptureStream() { captured = {}; }
bool capturing(int index) { return captured.device == index; }

const DeviceProperties& properties(int index) { return state_of(index).properties; }
unsigned* arrival_counters(int index) { return state_of(index).counters; }

}  // namespace adj::cuda
