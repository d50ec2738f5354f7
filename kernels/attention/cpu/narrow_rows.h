#pragma once

#include <adjoint/kernels/aggregate/cpu/feature_blocks.h>
#include <adjoint/kernels/attention/cpu/few_heads.h>

#include <array>
#include <bit>
#include <type_traits>
#include <utility>

// Rows of at most one vector whose heads and head width are powers of two, such as a last layer with a few
// classes. A vector holds several entries' rows to share the cost; one by one, a row of two numbers costs as
// much as one of sixteen.
namespace adj::kernels::cpu {

namespace detail {

/// N numbers from p on, or zeros.
template <int N, class Raw, class R>
Few<Raw, N> load_row(const R* p, bool valid) {
  static_assert(sizeof(Raw) == sizeof(R));
  Few<Raw, N> row{};
  if (valid) std::memcpy(static_cast<void*>(&row), p, sizeof row);
  return row;
}
template <int N, class Raw, size_t... kLane>
Few<Raw, 2 * N> concat(const Few<Raw, N>& a, const Few<Raw, N>& b, std::index_sequence<kLane...>) {
  if constexpr (N == 1) {
    return Few<Raw, 2>{a, b};
  } else {
    return __builtin_shufflevector(a, b, static_cast<int>(kLane)...);
  }
}
/// The rows [k, k + kRows) of kPitch numbers each; with kTail, zeros from `count` on.
template <int kPitch, int kRows, bool kTail, class Raw, class Rows>
Few<Raw, kPitch * kRows> load_rows(const Rows& rows, int64_t k, int64_t count) {
  if constexpr (kRows == 1) {
    if constexpr (kTail) return load_row<kPitch, Raw>(rows[std::min(k, count - 1)], k < count);
    return load_row<kPitch, Raw>(rows[k], true);
  } else {
    constexpr int kHalf = kRows / 2;
    return concat<kPitch * kHalf, Raw>(load_rows<kPitch, kHalf, kTail, Raw>(rows, k, count),
                                       load_rows<kPitch, kHalf, kTail, Raw>(rows, k + kHalf, count),
                                       std::make_index_sequence<static_cast<size_t>(2 * kPitch * kHalf)>());
  }
}
inline simd::F32 widened(simd::F32 v) { return v; }
inline simd::F64 widened(simd::F64 v) { return v; }
inline simd::F32 widened(simd::U16 v) { return simd::widen(v); }

}  // namespace detail

/// A vector of S with rows of kPitch numbers.
template <class S, int kPitch>
struct NarrowRows {
  using T = Scalar<S>;
  using V = Vector<S>;
  using Lanes = std::conditional_t<sizeof(T) == 8, simd::I64, simd::I32>;
  static constexpr int kLane = kLanes<S>;
  static constexpr int kRows = kLane / kPitch;
  static_assert(kRows * kPitch == kLane);

  template <class F>
  static Lanes lanes(F&& f) {
    Lanes result{};
    for (int l = 0; l < kLane; ++l) result[l] = f(l);
    return result;
  }

  template <bool kTail, class Rows>
  static V load(const Rows& rows, int64_t k, int64_t count) {
    using R = std::remove_cvref_t<decltype(*rows[0])>;
    using Raw = std::conditional_t<std::is_same_v<R, bfloat16>, uint16_t, R>;
    return detail::widened(detail::load_rows<kPitch, kRows, kTail, Raw>(rows, k, count));
  }
  /// For an op's hold(): one row's numbers, repeated for every row of the vector.
  struct Repeated {
    Lanes lane = lanes([](int l) { return l % kPitch; });
    template <class R>
    V operator()(const R* p) const {
      return simd::permute(simd::load_first(p, kPitch), lane);
    }
  };

  /// Like HeadRows::dots(), for heads of kWidth.
  template <int kWidth, class Rows, class Op>
  static void dots(int64_t count, const Rows& rows, const Op& op, T* out) {
    constexpr int kHeads = kPitch / kWidth;
    const auto held = op.hold(Repeated());
    const Lanes even = lanes([](int l) { return 2 * l; }), odd = lanes([](int l) { return 2 * l + 1; });
    // As many vectors as reduce to one.
    constexpr int kEntries = kWidth * kRows;
    const auto make = [&]<bool kTail>(int64_t k) {
      V sum[kWidth];
#pragma GCC unroll 16
      for (int v = 0; v < kWidth; ++v) {
        if constexpr (!kTail)
          for (int r = 0; r < kRows; ++r) rows.template prefetch<kPitch>(k + v * kRows + r, 0);
        sum[v] = op(V{}, held, load<kTail>(rows, k + v * kRows, count));
      }
#pragma GCC unroll 4
      for (int n = kWidth; n > 1; n /= 2)
#pragma GCC unroll 8
        for (int v = 0; v < n / 2; ++v)
          sum[v] = __builtin_shuffle(sum[2 * v], sum[2 * v + 1], even) +
                   __builtin_shuffle(sum[2 * v], sum[2 * v + 1], odd);
      if constexpr (kTail) {
        simd::store_first(out + k * kHeads, sum[0], static_cast<int>((count - k) * kHeads));
      } else {
        simd::store(out + k * kHeads, sum[0]);
      }
    };
    int64_t k = 0;
    for (; k + kEntries <= count; k += kEntries) make.template operator()<false>(k);
    if (k < count) make.template operator()<true>(k);
  }

  /// Like HeadRows::accumulate(), with one sum per weight, for heads of `width`, a power of two.
  template <int kSums, class Rows, class Term>
  static void accumulate(int64_t width, int64_t count, std::array<const T*, kSums> w, const Rows& rows,
                         const Term& term, bool fresh, std::array<T*, kSums> sum) {
    const auto held = term.hold(Repeated());
    const int shift = std::countr_zero(static_cast<uint64_t>(width));
    const int64_t heads = kPitch >> shift;
    const Lanes head = lanes([](int l) { return l; }) >> shift;
    V total[kSums]{};
    int64_t k = 0;
    for (; k + kRows <= count; k += kRows) {
      for (int r = 0; r < kRows; ++r) rows.template prefetch<kPitch>(k + r, 0);
      const V row = load<false>(rows, k, count);
#pragma GCC unroll 2
      for (size_t s = 0; s < kSums; ++s)
        total[s] = term(total[s], held, simd::permute(simd::load(w[s] + k * heads), head), row);
    }
    if (k < count) {
      const V row = load<true>(rows, k, count);
      for (size_t s = 0; s < kSums; ++s) {
        const V factor = simd::load_first(w[s] + k * heads, static_cast<int>((count - k) * heads));
        total[s] = term(total[s], held, simd::permute(factor, head), row);
      }
    }
    for (size_t s = 0; s < kSums; ++s) {
      for (int step = kLane / 2; step >= kPitch; step /= 2)
        total[s] += simd::permute(total[s], lanes([=](int l) { return l ^ step; }));
      if (!fresh) total[s] += simd::load_first(sum[s], kPitch);
      simd::store_first(sum[s], total[s], kPitch);
    }
  }
};

/// Are rows of these heads supported? In float64 none are: gradient checks need no speed.
template <class S>
bool are_narrow(int64_t heads, int64_t width) {
  const auto few = [](int64_t n) { return n == 1 || n == 2 || n == 4 || n == 8; };
  return !std::is_same_v<S, double> && heads * width <= kLanes<S> && few(heads) && few(width);
}
/// Calls f.template operator()<kPitch>() for such rows.
template <class S, class F>
void with_narrow_pitch(int64_t pitch, F&& f) {
  if constexpr (!std::is_same_v<S, double>)
    dispatch_value<1, 2, 4, 8, 16>(pitch, [&]<int kPitch>() {
      if constexpr (kPitch <= kLanes<S>) f.template operator()<kPitch>();
    });
}

}  // namespace adj::kernels::cpu
