#pragma once

#include <adjoint/core/parallel.h>
#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/dispatch_value.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

// Sparse kernels process rows of features in blocks of up to eight vectors, so that a row's sums stay in
// registers over all its entries.
namespace adj::kernels::cpu {

inline constexpr int kBlock = 8;  // vectors of features in registers
/// Prefetch distance in entries (into the second-level cache).
inline constexpr int64_t kAhead = 64;
/// Operands smaller than this are assumed to be in a near cache.
inline constexpr size_t kFarBytes = size_t{1} << 20;

template <class S>
using Scalar = typename simd::Accumulate<S>::Scalar;
template <class S>
using Vector = typename simd::Accumulate<S>::Vector;
template <class S>
constexpr int kLanes = simd::Accumulate<S>::kLanes;

/// B vectors of a row from one feature on; the last holds `tail` elements.
template <class S, int B>
[[gnu::always_inline]] inline void load_block(const S* p, int tail, Vector<S> (&v)[B]) {
#pragma GCC unroll 8
  for (int k = 0; k < B - 1; ++k) v[k] = simd::load(p + k * kLanes<S>);
  v[B - 1] = simd::load_first(p + (B - 1) * kLanes<S>, tail);
}

template <class S, int B>
[[gnu::always_inline]] inline void store_block(S* p, int tail, const Vector<Scalar<S>> (&v)[B]) {
#pragma GCC unroll 8
  for (int k = 0; k < B - 1; ++k) simd::store(p + k * kLanes<S>, v[k]);
  simd::store_first(p + (B - 1) * kLanes<S>, v[B - 1], tail);
}

template <class S, int B>
[[gnu::always_inline]] inline void stream_block(S* p, const Vector<S> (&v)[B]) {
#pragma GCC unroll 8
  for (int k = 0; k < B; ++k) simd::stream(p + k * kLanes<S>, v[k]);
}

template <class S, int B>
[[gnu::always_inline]] inline void prefetch_block(const S* p) {
  constexpr int kLine = 64 / sizeof(S);
#pragma GCC unroll 8
  for (int k = 0; k < B * kLanes<S>; k += kLine) __builtin_prefetch(p + k, 0, 2);
}

/// Calls f.template operator()<B>(first feature, elements in the last of its B vectors) for blocks of up to
/// kMost vectors that cover `width`. In float64, for gradient checks, all blocks have one vector.
template <class S, int kMost = kBlock, class F>
void for_blocks(int64_t width, F&& f) {
  static_assert(kMost == 2 || kMost == 4 || kMost == 8);
  constexpr int kVectors = std::is_same_v<S, double> ? 1 : kMost;
  constexpr int64_t kLane = kLanes<S>;
  for (int64_t first = 0; first < width; first += kVectors * kLane) {
    const int64_t vectors = std::min<int64_t>(ceil_div(width - first, kLane), kVectors);
    const int tail = static_cast<int>(std::min(width - first - (vectors - 1) * kLane, kLane));
    const auto call = [&]<int B>() __attribute__((always_inline)) { f.template operator()<B>(first, tail); };
    [&]<int... kLess>(std::integer_sequence<int, kLess...>) {
      dispatch_value<kVectors, (kLess + 1)...>(static_cast<int>(vectors), call);
    }
    (std::make_integer_sequence<int, kVectors - 1>());
  }
}

/// Column indices of a vector's lanes, in integers of the lanes' width.
template <class S>
using Columns = std::conditional_t<std::is_same_v<S, double>, simd::I64, simd::I32>;

template <class S>
void store_columns(int32_t* output, Columns<S> columns, int count) {
  if constexpr (std::is_same_v<S, double>) {
    using Narrow = int32_t __attribute__((vector_size(simd::kBytes / 2)));
    const Narrow narrow = __builtin_convertvector(columns, Narrow);
    std::memcpy(output, &narrow, static_cast<size_t>(count) * sizeof(int32_t));
  } else {
    std::memcpy(output, &columns, static_cast<size_t>(count) * sizeof(int32_t));
  }
}
template <class S>
Columns<S> load_columns(const int32_t* input, int count) {
  if constexpr (std::is_same_v<S, double>) {
    using Narrow = int32_t __attribute__((vector_size(simd::kBytes / 2)));
    Narrow narrow{};
    std::memcpy(&narrow, input, static_cast<size_t>(count) * sizeof(int32_t));
    return __builtin_convertvector(narrow, Columns<S>);
  } else {
    Columns<S> columns{};
    std::memcpy(&columns, input, static_cast<size_t>(count) * sizeof(int32_t));
    return columns;
  }
}

}  // namespace adj::kernels::cpu
