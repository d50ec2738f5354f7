#pragma once

#include <adjoint/core/capture.h>
#include <adjoint/core/cuda/check.h>

#include <cstdint>
#include <string>

namespace adj::cuda {

/// Makes device `index` the thread's current CUDA device in this scope. Other code of the process, such as
/// another library, then finds the device that it had chosen.
class DeviceScope {
 public:
  explicit DeviceScope(int index);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int index_, outer_ = -1;
  bool pushed_ = false;
};

/// Stream for this thread's work on the device: its current stream (core/stream.h), or the capturing stream
/// during a capture. Throws Error if the thread is capturing on another device, since this work would not be
/// part of the capture.
cudaStream_t current_stream(int index);
/// Stream of the device by number, regardless of captures. No stream synchronizes with the legacy default
/// stream.
cudaStream_t stream_of(int index, int number);

/// A stream beside the numbered ones, with arrival counters of its own. Its maker closes it.
struct Branch {
  cudaStream_t stream = nullptr;
  unsigned* counters = nullptr;
};
Branch open_branch(int priority);
void close_branch(const Branch& branch) noexcept;
/// In this scope it is the thread's current stream of the device, within a capture or not.
class BranchScope {
 public:
  BranchScope(int index, const Branch& branch);
  ~BranchScope();
  BranchScope(const BranchScope&) = delete;
  BranchScope& operator=(const BranchScope&) = delete;

 private:
  int outer_index_;
  Branch outer_;
};

/// Makes another stream; beyond detail::kMaxStreams, reuses the existing ones in turn.
int make_stream(int index);
int num_streams(int index);

/// True if this thread is capturing on the device.
inline bool capturing(int index) { return adj::capturing(Device::cuda(index)); }

/// Allows this thread calls that a capture forbids by default but that are harmless here (cudaMalloc,
/// cudaFree, creating handles and streams).
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
  double clock_ghz = 0.0;            ///< of the multiprocessors, at most
  double memory_bytes_per_ns = 0.0;  ///< clock times bus width
  int max_shared_bytes = 0;          ///< per block, with cudaFuncSetAttribute
  bool overlapping = false;  ///< supports placing a kernel's blocks before the previous kernel has ended
};
const DeviceProperties& properties(int index);

/// kArrivalCounters zeroed counters of the current stream, for kernels whose last block merges the results of
/// all blocks: each block increments a counter, and the kernel leaves zeros again. Kernels of one stream do
/// not overlap, so they share the counters; a captured step uses those of its replay stream.
constexpr int kArrivalCounters = 4096;
unsigned* arrival_counters(int index);

}  // namespace adj::cuda
