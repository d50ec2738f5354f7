#pragma once

#include <adjoint/kernels/cuda/cub.cuh>

#include <bit>

#include <cub/device/device_radix_sort.cuh>

namespace adj::kernels::cuda {

/// Bits needed for 0 … extent - 1; at least one, as CUB requires.
inline int bits_for(int64_t extent) {
  return extent <= 2 ? 1 : static_cast<int>(std::bit_width(static_cast<uint64_t>(extent - 1)));
}

template <class Key>
Tensor empty_keys(int64_t n, Device device) {
  return Tensor::empty({n}, sizeof(Key) == 8 ? DType::i64 : DType::i32, device);
}

/// Stable sort of (keys, 0 … n - 1) by the lowest `end_bit` bits of the keys.
template <class Key>
void sort_pairs(const Key* keys, Key* sorted, const int32_t* iota, int32_t* order, int64_t n, int end_bit,
                Device device) {
  with_workspace(device, [&](void* memory, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted, iota, order, n, 0, end_bit, stream);
  });
}

}  // namespace adj::kernels::cuda
