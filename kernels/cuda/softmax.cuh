#pragma once

#include <adjoint/kernels/cuda/rows.cuh>

#include <limits>

namespace adj::kernels::cuda {

/// max and Σ exp(x - max) of a row, on every lane of its group.
template <class S, int N, int kLanes, int kHeld, class T = Wide<S>>
__device__ __forceinline__ void soft_maximum(const RowView<S, N, kLanes, kHeld>& view, T& largest, T& total) {
  T mine = -std::numeric_limits<T>::infinity();
  view.each([&](int64_t, const Pack<T, N>& pack) {
#pragma unroll
    for (int k = 0; k < N; ++k) mine = pack[k] > mine ? pack[k] : mine;
  });
  largest = largest_of_lanes<kLanes>(mine);
  total = view.sum([most = largest](int64_t, T value) { return exp(value - most); });
}

}  // namespace adj::kernels::cuda
