#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace adj {

/// Location of a tensor: the CPU or one NVIDIA GPU, which need not exist: require_available() checks that.
struct Device {
  /// The CPU, or a GPU by CUDA.
  enum class Kind : uint8_t { cpu, cuda };

  Kind kind = Kind::cpu;  ///< whose memory it is
  int index = 0;          ///< CUDA's number of the GPU, from 0; 0 for the CPU

  static Device cpu() { return {}; }                                 ///< the CPU, also the default
  static Device cuda(int index = 0) { return {Kind::cuda, index}; }  ///< a GPU, available or not
  /// The first GPU that can be used, else the CPU.
  static Device best();
  /// "cpu", "cuda" (the first GPU that can be used) or "cuda:1". Throws UsageError for anything else, and
  /// Error with a one-line reason if the device is unavailable (built without CUDA, no driver, no such GPU).
  static Device parse(std::string_view text);

  bool is_cpu() const { return kind == Kind::cpu; }    ///< true for the CPU
  bool is_cuda() const { return kind == Kind::cuda; }  ///< true for a GPU
  std::string str() const;                             ///< "cpu" or "cuda:0", which parse() reads
  bool operator==(const Device&) const = default;
};

/// Version of the linked library, as "0.1.0".
std::string_view version();

/// Number of NVIDIA GPUs, 0 if none can be used: in a build without CUDA or without a driver. GPUs that are
/// too old are counted, too; require_available() refuses them.
int cuda_device_count();

/// Throws Error with a one-line reason unless `device` is available.
void require_available(Device device);

/// Waits until all work queued on `device` is done. Returns at once on the CPU.
void synchronize(Device device);

}  // namespace adj
