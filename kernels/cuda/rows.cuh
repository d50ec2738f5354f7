#pragma once

// Row-wise passes over a matrix [rows, width]: a group of lanes of one warp takes a row. If a row fits, it is
// held in the lanes' registers, so that several passes read memory once.

#include <adjoint/kernels/cuda/reduction.cuh>

#include <limits>
#include <type_traits>

namespace adj::kernels::cuda {

/// A row, stored as S, distributed over its group of kLanes lanes: packs of N values, lane l holding packs l,
/// l + kLanes, … With kHeld = 0 nothing is held and each pass rereads the row.
template <class S, int N, int kLanes, int kHeld>
struct RowView {
  using T = Accumulator<S>;
  const S* data;
  int64_t packs;
  int lane;
  Pack<T, N> held[kHeld > 0 ? kHeld : 1];

  /// Row `row` of `matrix`; no packs if `row` is negative.
  __device__ __forceinline__ RowView(const S* matrix, int64_t width, int64_t row, int lane_in_group)
      : data(matrix + (row < 0 ? 0 : row * width)), packs(row < 0 ? 0 : width / N), lane(lane_in_group) {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int h = 0; h < kHeld; ++h)
        if (lane + h * kLanes < packs) held[h] = load_wide<N>(data + (lane + h * kLanes) * N);
    }
  }

  /// f(first column, pack) for each pack of this lane.
  template <class F>
  __device__ __forceinline__ void each(F&& f) const {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int h = 0; h < kHeld; ++h)
        if (lane + h * kLanes < packs) f(static_cast<int64_t>(lane + h * kLanes) * N, held[h]);
    } else {
      for (int64_t p = lane; p < packs; p += kLanes) f(p * N, load_wide<N>(data + p * N));
    }
  }

  /// Σ f(column, value) over the whole row, on every lane of the group.
  template <class F>
  __device__ __forceinline__ T sum(F&& f) const {
    T total = 0;
    each([&](int64_t column, const Pack<T, N>& pack) {
#pragma unroll
      for (int k = 0; k < N; ++k) total += f(column + k, pack[k]);
    });
    return sum_of_lanes<kLanes>(total);
  }
};

/// f(first column, pack of a, pack of b) for each pack of this lane, of two rows of equal width.
template <class S, int N, int kLanes, int kHeld, class F>
__device__ __forceinline__ void both(const RowView<S, N, kLanes, kHeld>& a,
                                     const RowView<S, N, kLanes, kHeld>& b, F&& f) {
  if constexpr (kHeld > 0) {
#pragma unroll
    for (int h = 0; h < kHeld; ++h)
      if (a.lane + h * kLanes < a.packs)
        f(static_cast<int64_t>(a.lane + h * kLanes) * N, a.held[h], b.held[h]);
  } else {
    for (int64_t p = a.lane; p < a.packs; p += kLanes)
      f(p * N, load_wide<N>(a.data + p * N), load_wide<N>(b.data + p * N));
  }
}

/// to[column] = value * factor over the row.
template <class S, int N, int kLanes, int kHeld>
__device__ __forceinline__ void scale_row(const RowView<S, N, kLanes, kHeld>& row, Accumulator<S> factor,
                                          S* output) {
  row.each([&](int64_t column, Pack<Accumulator<S>, N> pack) {
#pragma unroll
    for (int k = 0; k < N; ++k) pack[k] *= factor;
    store_narrow<N>(output + column, pack);
  });
}

/// Whether a body says that two of its rows should be in flight.
template <class Body>
constexpr bool takes_two_rows() {
  if constexpr (requires { Body::kTwoRows; }) return Body::kTwoRows;
  return false;
}

// All lanes of a warp call body.row<N, kLanes, kHeld>(row, lane) together, so that shuffles are complete:
// with row -1 in groups without a row.
template <int N, int kLanes, int kHeld, class Body>
__global__ void __launch_bounds__(kBlockThreads) map_rows_kernel(int64_t rows, Body body) {
  begin_overlapping();
  constexpr int kGroups = kBlockThreads / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, group = static_cast<int>(threadIdx.x) / kLanes;
  const int64_t step = int64_t{gridDim.x} * kGroups;
  const auto take = [&](int64_t first) {
    const int64_t row = first + group;
    body.template row<N, kLanes, kHeld>(row < rows ? row : int64_t{-1}, lane);
  };
  // The second row hides the first one's waits, which the compiler does not see for every body.
  if constexpr (N == 1 && kHeld == 1 && takes_two_rows<Body>()) {
#pragma unroll 2
    for (int64_t first = int64_t{blockIdx.x} * kGroups; first < rows; first += step) take(first);
  } else {
    for (int64_t first = int64_t{blockIdx.x} * kGroups; first < rows; first += step) take(first);
  }
}

/// Calls `f.template operator()<N, kLanes, kHeld>()` with the layout for rows of `width` values of T.
template <class T, class F>
void dispatch_row(int64_t width, bool aligned, F&& f) {
  if constexpr (std::is_same_v<T, double>) {  // for gradient checks: small code over speed
    f.template operator()<1, 32, 0>();
  } else if (constexpr int kWidth = kVectorWidth<T>; aligned && width % kWidth == 0) {
    const int64_t packs = width / kWidth;
    if (packs <= 4) return f.template operator()<kWidth, 4, 1>();
    if (packs <= 8) return f.template operator()<kWidth, 8, 1>();
    if (packs <= 16) return f.template operator()<kWidth, 16, 1>();
    if (packs <= 32) return f.template operator()<kWidth, 32, 1>();
    if (packs <= 64) return f.template operator()<kWidth, 32, 2>();
    if (packs <= 128) return f.template operator()<kWidth, 32, 4>();
    f.template operator()<kWidth, 32, 0>();
  } else {
    if (width <= 8) return f.template operator()<1, 8, 1>();
    if (width <= 16) return f.template operator()<1, 16, 1>();
    if (width <= 32) return f.template operator()<1, 32, 1>();
    if (width <= 64) return f.template operator()<1, 32, 2>();
    f.template operator()<1, 32, 0>();
  }
}

/// body.row for every row.
template <class T, class Body>
void map_rows(const char* name, int device, int64_t rows, int64_t width, bool aligned, const Body& body) {
  dispatch_row<T>(width, aligned, [&]<int N, int kLanes, int kHeld>() {
    launch(name, over(device, rows * kLanes), map_rows_kernel<N, kLanes, kHeld, Body>, rows, body);
  });
}

/// max and Σ exp(x - max) of a row, on every lane of its group.
template <class S, int N, int kLanes, int kHeld, class T = Accumulator<S>>
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
