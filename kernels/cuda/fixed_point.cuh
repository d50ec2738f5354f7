#pragma once

// Order-independent float sums by atomics: each term is rounded to an integer multiple of a unit, and integer
// addition gives the same bits in any order. The unit is a power of two chosen so that the given number of
// terms, each as large as the largest, stays below 2^60 units: 2^-43 of the largest for 100,000 terms, 2^-29
// at worst for 2^31. Anything smaller relative to the largest is lost. A non-finite term stores 2^62 by an
// atomic maximum, which no sum reaches or reduces below 2^61: the result is NaN, again in any order.
//
// Atomics hit random rows, 32 bytes of L2 each, so features are summed in slabs narrow enough that the sums
// stay in the L2 cache.

#include <adjoint/kernels/cuda/reduction.cuh>

namespace adj::kernels::cuda {

constexpr int kSumBits = 60;
constexpr long long kNotFinite = 1ll << 62, kFinite = 1ll << 61;
constexpr int64_t kNarrowestSlab = 16;  // 64 bytes of a row of int32 or float: the memory access granularity

struct FixedPoint {
  double scale;  ///< units per 1.0
  double unit;
};

/// For up to 2^count_bits terms below 2^exponent.
__device__ __forceinline__ FixedPoint fixed_point(int exponent, int count_bits) {
  const int shift = kSumBits - exponent - count_bits;
  return {ldexp(1.0, shift), ldexp(1.0, -shift)};
}

/// The smallest e with |value| < 2^e for a finite value with these bits; 0 for zero.
__device__ __forceinline__ int exponent_above(uint32_t magnitude) {
  int exponent = 0;
  (void)frexp(static_cast<double>(__uint_as_float(magnitude)), &exponent);
  return exponent;
}

/// The smallest b with count < 2^b, at least 1.
inline int bits_of_count(int64_t count) {
  int bits = 1;
  while ((count >> bits) > 0) ++bits;
  return bits;
}

/// Bits of |value|, ordered like the magnitudes; kInfinityBits and above: not finite.
template <class S>
__device__ __forceinline__ uint32_t magnitude_bits(S value) {
  return __float_as_uint(fabsf(widen(value)));
}
constexpr uint32_t kInfinityBits = 0x7f800000u;

/// Maximum, ignoring a non-finite `value`.
template <class S>
__device__ __forceinline__ uint32_t larger_if_finite(uint32_t largest, S value) {
  const uint32_t bits = magnitude_bits(value);
  return bits < kInfinityBits ? max(largest, bits) : largest;
}

/// Maximum over a block of kBlockThreads, the same in all threads.
__device__ __forceinline__ uint32_t largest_of_block(uint32_t value) {
  constexpr int kWarps = kBlockThreads / 32;
  __shared__ uint32_t of_warp[kWarps];
  value = largest_of_lanes<32>(value);
  __syncthreads();  // earlier readers of of_warp are done
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) value = max(value, of_warp[w]);
  return value;
}

__device__ __forceinline__ void add_units(unsigned long long* sum, long long units) {
  if (units != 0) atomicAdd(sum, static_cast<unsigned long long>(units));
}
__device__ __forceinline__ void add_not_finite(unsigned long long* sum) {
  atomicMax(reinterpret_cast<long long*>(sum), kNotFinite);
}
/// Whether the sum has no non-finite term.
__device__ __forceinline__ bool is_finite_sum(long long sum) { return sum <= kFinite; }

/// Features per slab: all, or as many as keep its sums, of `bytes` each, within a quarter of the L2 cache.
inline int64_t slab_width(int64_t rows, int64_t width, int64_t l2_bytes, int64_t bytes = 8) {
  const int64_t fit = l2_bytes / 4 / (std::max<int64_t>(rows, 1) * bytes);
  if (fit >= width) return width;
  const int64_t slabs = ceil_div(width, std::max(fit, kNarrowestSlab));
  return std::min(width, ceil_div(ceil_div(width, slabs), kNarrowestSlab) * kNarrowestSlab);
}

/// Features [first, first + width) of all rows, in sums[row, width].
template <class Sum>
struct Slab {
  int first = 0;
  int width = 0;
  Sum* sums = nullptr;
};

/// Scatters `width` features in slabs over two buffers of sums, in turn: sets a.add to a slab while the
/// previous one is a.finish (width 0: none), a.clear if a later slab uses that buffer, and calls run(number
/// of the slab).
template <class Sum, class Arguments, class Run>
void for_slabs(Sum* sums, int64_t buffer, int64_t width, int64_t slab, Arguments& a, Run&& run) {
  const int64_t slabs = ceil_div(width, slab);
  for (int64_t k = 0; k <= slabs; ++k) {
    a.finish = a.add;
    a.clear = k > 0 && k + 1 < slabs;
    a.add = {};
    if (k < slabs)
      a.add = {static_cast<int>(k * slab), static_cast<int>(std::min(slab, width - k * slab)),
               sums + k % 2 * buffer};
    run(k);
  }
}

}  // namespace adj::kernels::cuda
