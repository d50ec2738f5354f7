#pragma once

#include <adjoint/core/cuda/check.h>

#include <cstdint>
#include <string>

namespace adj::cuda {

/// Makes device `index` the calling thread's current one, as CUDA's calls need it. It stays so.
void use_device(int index);

/// The stream that this thread's work on the device is queued on: the device's one compute stream, which does
/// not wait for the legacy default stream, or the stream of this thread's capture.
cudaStream_t current_stream(int index);
/// The device's compute stream, captured or not.
cudaStream_t compute_stream(int index);

/// While it lives, `stream` is this thread's current stream on the device, and is being captured.
class CaptureStream {
 public:
  CaptureStream(int index, cudaStream_t stream);
  ~CaptureStream();
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;
};
/// Is this thread capturing on the device?
bool capturing(int index);

/// Lets this thread make calls that a capture forbids by default and that do not harm ours (cudaMalloc,
/// cudaFree, making handles and streams).
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

struct DeviceProperties {
  std::string name;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  int max_shared_bytes = 0;  ///< per block, after cudaFuncSetAttribute
  bool overlapping = false;  ///< can a kernel's blocks be placed before the kernel before it has ended?
};
const DeviceProperties& properties(int index);

/// kArrivalCounters zeros on the device, for kernels whose last block to finish merges what all blocks left:
/// each such kernel counts its blocks here and leaves zeros again. Kernels of one stream do not overlap, so
/// all share them.
constexpr int kArrivalCounters = 4096;
unsigned* arrival_counters(int index);

}  // namespace adj::cuda
