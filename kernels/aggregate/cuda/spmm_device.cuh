#pragma once

#include <adjoint/kernels/aggregate/cuda/spmm_plan.h>
#include <adjoint/kernels/cuda/launch.cuh>

namespace adj::kernels::cuda {

/// Accumulator type of features stored as S.
template <class S>
using Sum = Accumulator<S>;

template <class S>
struct SpmmArguments {
  const ItemStart* starts;
  int items;
  const int64_t* offsets;
  const int32_t* indices;
  const Sum<S>* values;  ///< null: all 1
  const int32_t* order;  ///< null: entry e has values[e]
  const S* x;            ///< gathered by column
  const char* local;     ///< kLocal: rows [local_row, local_row + own_rows), instead of those of x
  int local_row, local_rows;
  uint32_t local_pitch;  ///< bytes per row
  S* y;
  Sum<S>* partial;  ///< [slots, width]
  int width;
  uint32_t pitch;  ///< bytes per row
  uint32_t y_gap;  ///< bytes between the end of a row of y and the next one
  int first_feature;
  bool epilogue;  ///< factor, bias or relu
  bool relu;
  const Sum<S>* factor;   ///< null: all 1; else [rows]
  const S* bias;          ///< null: none
  const S* row_features;  ///< kDot: [rows, width]
  Sum<S>* dw;             ///< kDot
  bool add_to_dw;         ///< kDot: dw already has the sums of the first features
};

/// relu(factor value + bias), each optional.
template <class S>
__device__ __forceinline__ Sum<S> finish(const SpmmArguments<S>& a, int row, Sum<S> value, int feature) {
  if (a.factor != nullptr) value *= a.factor[row];
  if (a.bias != nullptr) value += widen(a.bias[feature]);
  return a.relu && value < Sum<S>(0) ? Sum<S>(0) : value;  // NaN stays
}

template <int kBytes>
struct Word;
template <>
struct Word<16> {
  using type = uint4;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<4> {
  using type = unsigned int;
};
template <>
struct Word<2> {
  using type = unsigned short;
};

/// base + index * pitch, in bytes, as one instruction; the compiler would generate four.
__device__ __forceinline__ const char* row_address(const char* base, int32_t index, uint32_t pitch) {
  uint64_t address;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(address) : "r"(index), "r"(pitch), "l"(base));
  return reinterpret_cast<const char*>(address);
}

/// Opaque copy of a value: the compiler keeps it in a register instead of recomputing it in every iteration.
template <class T>
__device__ __forceinline__ T keep(unsigned mask, T value) {
  return __shfl_sync(mask, value, threadIdx.x % 32);
}
/// The same for an address of bytes.
template <class T>
__device__ __forceinline__ const char* keep_address(unsigned mask, const T* address) {
  return reinterpret_cast<const char*>(keep(mask, reinterpret_cast<unsigned long long>(address)));
}

/// One read through the read-only path, as wide as the pack (16 bytes at most).
template <class S, int N>
__device__ __forceinline__ Pack<S, N> gather_pack(const char* source) {
  using W = typename Word<sizeof(S) * N>::type;
  const W word = __ldg(reinterpret_cast<const W*>(source));
  Pack<S, N> pack;
  memcpy(&pack, &word, sizeof(word));
  return pack;
}

/// A write that does not evict gathered rows from the L2 cache.
template <class S, int N>
__device__ __forceinline__ void stream_pack(const char* destination, const Pack<S, N>& pack) {
  using W = typename Word<sizeof(S) * N>::type;
  W word;
  memcpy(&word, &pack, sizeof(word));
  __stcs(reinterpret_cast<W*>(const_cast<char*>(destination)), word);
}

/// Sums v[0 … N) over a group of L lanes in a fixed tree. Lane l ends with the sum of v[l / (L / N)].
template <int N, int L, class A>
__device__ __forceinline__ A reduce_scatter(A (&v)[N], int lane, unsigned mask) {
  static_assert(N <= L);
  int step = L / 2;
#pragma unroll
  for (int n = N / 2; n >= 1; n /= 2, step /= 2) {
    const bool upper = (lane & step) != 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const A keep = upper ? v[i + n] : v[i], send = upper ? v[i] : v[i + n];
      v[i] = keep + __shfl_xor_sync(mask, send, step, L);
    }
  }
#pragma unroll
  for (; step >= 1; step /= 2) v[0] += __shfl_xor_sync(mask, v[0], step, L);
  return v[0];
}

/// Entries that a group of lanes keeps in shared memory.
template <int kLanes>
constexpr int kStage = kLanes >= 16  ? kLanes
                       : kLanes >= 8 ? 16
                                     : 8;

template <class S, int kLanes, bool kDot>
constexpr size_t stage_bytes(int threads) {
  return static_cast<size_t>(threads / kLanes) * kStage<kLanes> *
         (sizeof(Sum<S>) + sizeof(int32_t) * (kDot ? 2 : 1));
}

}  // namespace adj::kernels::cuda
