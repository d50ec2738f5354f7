#pragma once

#include <adjoint/kernels/cuda/launch.cuh>

#include <cub/device/device_scan.cuh>

namespace adj::kernels::cuda {

/// A CUB algorithm on the device's current stream: call(memory, bytes, stream) first with null memory, which
/// sets `bytes`, then with as much.
template <class F>
void with_workspace(Device device, F&& call) {
  const DeviceScope scope(device.index);
  const cudaStream_t stream = current_stream(device.index);
  size_t bytes = 0;
  ADJ_CUDA_CHECK(call(nullptr, bytes, stream));
  Tensor workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::u8, device);
  ADJ_CUDA_CHECK(call(workspace.raw_mutable_data(), bytes, stream));
}

/// values[i] = Σ_{k < i} values[k].
template <class T>
void exclusive_sum(T* values, int64_t n, Device device) {
  with_workspace(device, [&](void* memory, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, values, values, n, stream);
  });
}

}  // namespace adj::kernels::cuda
