#pragma once

#include <adjoint/core/capture.h>
#include <adjoint/core/cuda/check.h>

#include <cstdint>
#include <string>

namespace adj::cuda {

/// Makes device `index` the calling thread's current one, as CUDA's calls need it. It stays so.
void use_device(int index);

/// What this thread's work on the device is queued on: its current stream (core/stream.h), or while it
/// captures a step, the stream that records it. Throws Error if it captures one on another device, of which
/// this work would not be part.
cudaStream_t current_stream(int index);
/// A stream of the device by its number, whatever is captured. None waits for the legacy default stream.
cudaStream_t stream_of(int index, int number);

/// Makes another stream, or where there are detail::kMaxStreams, goes round those that were made.
int make_stream(int index);
int num_streams(int index);

/// Is this thread capturing on the device?
inline bool capturing(int index) { return adj::capturing(Device::cuda(index)); }

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

/// kArrivalCounters zeros of the current stream, for kernels whose last block to finish merges what all
/// blocks left: each such kernel counts its blocks here and leaves zeros again. Kernels of one stream do not
/// overlap, so all share them; a captured step has those of the stream that it is replayed on.
constexpr int kArrivalCounters = 4096;
unsigned* arrival_counters(int index);

}  // namespace adj::cuda
