#pragma once

#include <adjoint/core/dtype.h>

#include <cstdint>
#include <cstring>
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#define ADJ_AVX512 1
#else
#define ADJ_AVX512 0
#endif

// Vectors that do not fit a register are passed in memory. Nothing here leaves its translation unit.
#pragma GCC diagnostic ignored "-Wpsabi"

/// 64-byte vectors of the compiler's vector extension, the accumulators of the sparse kernels: one register
/// with AVX-512, two or four elsewhere. + - * are lane-wise.
namespace adj::kernels::cpu::simd {

using F32 = float __attribute__((vector_size(64)));
using F64 = double __attribute__((vector_size(64)));
using U32 = uint32_t __attribute__((vector_size(64)));
using U16 = uint16_t __attribute__((vector_size(32)));

/// Accumulator type of a storage type, with `Lanes` elements per vector.
template <class T>
struct Accumulate {
  using Scalar = float;
  using Vector = F32;
  static constexpr int kLanes = 16;
};
template <>
struct Accumulate<double> {
  using Scalar = double;
  using Vector = F64;
  static constexpr int kLanes = 8;
};

inline F32 widen(U16 half) { return reinterpret_cast<F32>(__builtin_convertvector(half, U32) << 16); }
/// Like bfloat16's constructor: to nearest, ties to even, NaN propagates.
inline U16 narrow(F32 value) {
  const U32 raw = reinterpret_cast<U32>(value);
  const U32 rounded = (raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16;
  const U32 quiet = (raw >> 16) | 0x40u;
  return __builtin_convertvector((raw & 0x7fffffffu) > 0x7f800000u ? quiet : rounded, U16);
}

inline F32 load(const float* p) {
  F32 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline F64 load(const double* p) {
  F64 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline F32 load(const bfloat16* p) {
  U16 v;
  std::memcpy(&v, p, sizeof v);
  return widen(v);
}
inline void store(float* p, F32 v) { std::memcpy(p, &v, sizeof v); }
inline void store(double* p, F64 v) { std::memcpy(p, &v, sizeof v); }
inline void store(bfloat16* p, F32 v) {
  const U16 half = narrow(v);
  std::memcpy(static_cast<void*>(p), &half, sizeof half);
}

/// Non-temporal stores, for results larger than the caches; `p` is aligned to the vector's size. fence()
/// orders such stores before what follows.
#if ADJ_AVX512
inline void stream(float* p, F32 v) { _mm512_stream_ps(p, reinterpret_cast<__m512>(v)); }
inline void stream(double* p, F64 v) { _mm512_stream_pd(p, reinterpret_cast<__m512d>(v)); }
inline void stream(bfloat16* p, F32 v) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(narrow(v)));
}
inline void fence() { _mm_sfence(); }
#else
template <class T>
void stream(T* p, typename Accumulate<T>::Vector v) {
  store(p, v);
}
inline void fence() {}
#endif

/// Loads the first `n` <= kLanes elements; other lanes are 0 and no memory beyond is touched.
#if ADJ_AVX512
inline F32 load_first(const float* p, int n) {
  return reinterpret_cast<F32>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
}
inline F64 load_first(const double* p, int n) {
  return reinterpret_cast<F64>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p));
}
inline F32 load_first(const bfloat16* p, int n) {
  return widen(reinterpret_cast<U16>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p)));
}
inline void store_first(float* p, F32 v, int n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(v));
}
inline void store_first(double* p, F64 v, int n) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), reinterpret_cast<__m512d>(v));
}
inline void store_first(bfloat16* p, F32 v, int n) {
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m256i>(narrow(v)));
}
#else
template <class T>
typename Accumulate<T>::Vector load_first(const T* p, int n) {
  T lanes[Accumulate<T>::kLanes]{};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}
template <class T>
void store_first(T* p, typename Accumulate<T>::Vector v, int n) {
  T lanes[Accumulate<T>::kLanes];
  store(lanes, v);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
}
#endif

/// Sum of the lanes, by folding halves.
inline float sum(F32 v) {
  using F32x8 = float __attribute__((vector_size(32)));
  using F32x4 = float __attribute__((vector_size(16)));
  const F32x8 half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  F32x4 quarter =
      __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
  quarter += __builtin_shufflevector(quarter, quarter, 2, 3, 2, 3);
  return quarter[0] + quarter[1];
}
inline double sum(F64 v) {
  using F64x4 = double __attribute__((vector_size(32)));
  using F64x2 = double __attribute__((vector_size(16)));
  const F64x4 half = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
  const F64x2 quarter = __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
  return quarter[0] + quarter[1];
}

/// Permutation: lane l of the result is lane from[l] of v.
using I32 = int32_t __attribute__((vector_size(64)));
using I64 = int64_t __attribute__((vector_size(64)));
inline F32 permute(F32 v, I32 from) { return __builtin_shuffle(v, from); }
inline F64 permute(F64 v, I64 from) { return __builtin_shuffle(v, from); }

/// max(v, 0); NaN propagates.
inline F32 relu(F32 v) { return v < F32{} ? F32{} : v; }
inline F64 relu(F64 v) { return v < F64{} ? F64{} : v; }

}  // namespace adj::kernels::cpu::simd
