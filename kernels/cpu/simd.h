#pragma once

#include <adjoint/core/dtype.h>

#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define ADJ_AVX512 1
#else
#define ADJ_AVX512 0
#endif

// Vectors that do not fit a register are passed in memory. Nothing here leaves its translation unit.
#pragma GCC diagnostic ignored "-Wpsabi"

/// 64-byte vectors of the compiler's vector extension, the accumulators of the sparse kernels: one register
/// with AVX-512, two or four elsewhere. + - * are lane-wise.
namespace adj::kernels::cpu::simd {

#if defined(__AVX2__)
inline constexpr int kBytes = ADJ_AVX512 ? 64 : 32;
#else
inline constexpr int kBytes = 16;
#endif
using F32 = float __attribute__((vector_size(kBytes)));
using F64 = double __attribute__((vector_size(kBytes)));
using U32 = uint32_t __attribute__((vector_size(kBytes)));
using U16 = uint16_t __attribute__((vector_size(kBytes / 2)));
using I32 = int32_t __attribute__((vector_size(kBytes)));
using I64 = int64_t __attribute__((vector_size(kBytes)));

/// Accumulator type of a storage type, with `Lanes` elements per vector.
template <class T>
struct Accumulate {
  using Scalar = float;
  using Vector = F32;
  static constexpr int kLanes = kBytes / 4;
};
template <>
struct Accumulate<double> {
  using Scalar = double;
  using Vector = F64;
  static constexpr int kLanes = kBytes / 8;
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
#elif defined(__AVX2__)
inline void stream(float* p, F32 v) { _mm256_stream_ps(p, reinterpret_cast<__m256>(v)); }
inline void stream(double* p, F64 v) { _mm256_stream_pd(p, reinterpret_cast<__m256d>(v)); }
inline void stream(bfloat16* p, F32 v) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(narrow(v)));
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
#elif defined(__AVX2__)
/// All bits of the first `n` 32-bit lanes.
inline __m256i first_lanes(int n) {
  alignas(64) static constexpr int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - n));
}
inline F32 load_first(const float* p, int n) {
  return reinterpret_cast<F32>(_mm256_maskload_ps(p, first_lanes(n)));
}
inline F64 load_first(const double* p, int n) {
  return reinterpret_cast<F64>(_mm256_maskload_pd(p, first_lanes(2 * n)));
}
inline F32 load_first(const bfloat16* p, int n) {
  if (n == 8) return load(p);
  // There is no mask of 16 bits: pairs of elements, then the odd one.
  const __m128i pairs =
      _mm_maskload_epi32(reinterpret_cast<const int*>(p), _mm256_castsi256_si128(first_lanes(n / 2)));
  F32 v = widen(reinterpret_cast<U16>(pairs));
  if (n % 2 != 0) v[n - 1] = static_cast<float>(p[n - 1]);
  return v;
}
inline void store_first(float* p, F32 v, int n) {
  _mm256_maskstore_ps(p, first_lanes(n), reinterpret_cast<__m256>(v));
}
inline void store_first(double* p, F64 v, int n) {
  _mm256_maskstore_pd(p, first_lanes(2 * n), reinterpret_cast<__m256d>(v));
}
inline void store_first(bfloat16* p, F32 v, int n) {
  if (n == 8) return store(p, v);
  const U16 half = narrow(v);
  _mm_maskstore_epi32(reinterpret_cast<int*>(p), _mm256_castsi256_si128(first_lanes(n / 2)),
                      reinterpret_cast<__m128i>(half));
  if (n % 2 != 0) p[n - 1] = bfloat16(v[n - 1]);
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

using F32x4 = float __attribute__((vector_size(16)));
using F32x8 = float __attribute__((vector_size(32)));
using F64x2 = double __attribute__((vector_size(16)));
using F64x4 = double __attribute__((vector_size(32)));
/// Halves folded onto each other, down to 16 bytes.
inline F32x4 folded(F32x4 v) { return v; }
inline F64x2 folded(F64x2 v) { return v; }
inline F32x4 folded(F32x8 v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
inline F64x2 folded(F64x4 v) {
  return __builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3);
}
#if ADJ_AVX512
inline F64x4 halves(F64 v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
inline F32x4 folded(F32 v) {
  return folded(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
inline F64x2 folded(F64 v) { return folded(halves(v)); }
#endif

/// Sum of the lanes.
inline float sum(F32 v) {
  F32x4 quarter = folded(v);
  quarter += __builtin_shufflevector(quarter, quarter, 2, 3, 2, 3);
  return quarter[0] + quarter[1];
}
inline double sum(F64 v) {
  const F64x2 quarter = folded(v);
  return quarter[0] + quarter[1];
}

/// Lane l of the result is lane source[l] of v: one instruction if kPermutes.
#if defined(__AVX2__)
inline constexpr bool kPermutes = true;
#else
inline constexpr bool kPermutes = false;
#endif
inline F32 permute(F32 v, I32 source) { return __builtin_shuffle(v, source); }
inline F64 permute(F64 v, I64 source) { return __builtin_shuffle(v, source); }

/// max(v, 0); NaN propagates.
inline F32 relu(F32 v) { return v < F32{} ? F32{} : v; }
inline F64 relu(F64 v) { return v < F64{} ? F64{} : v; }

}  // namespace adj::kernels::cpu::simd
