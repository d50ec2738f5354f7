#pragma once

#include <adjoint/kernels/attention/cpu/narrow_rows.h>
#include <adjoint/kernels/cpu/loops.h>

#include <array>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

// Rows of features of H adjacent heads with D columns each, and attention's operations on gathered rows: dot
// products per head, and weighted sums per head. Values per entry and head are at [k H + h], in arrays with
// room for a vector beyond the last element.
namespace adj::kernels::cpu {

namespace simd {

/// Maximum; b if either is NaN.
#if ADJ_AVX512
inline F32 larger(F32 a, F32 b) {
  return reinterpret_cast<F32>(_mm512_max_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
}
inline F64 larger(F64 a, F64 b) {
  return reinterpret_cast<F64>(_mm512_max_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b)));
}
#elif defined(__AVX2__)
inline F32 larger(F32 a, F32 b) {
  return reinterpret_cast<F32>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
}
inline F64 larger(F64 a, F64 b) {
  return reinterpret_cast<F64>(_mm256_max_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b)));
}
#else
inline F32 larger(F32 a, F32 b) { return a > b ? a : b; }
inline F64 larger(F64 a, F64 b) { return a > b ? a : b; }
#endif

/// Entries whose sums of four heads fill a vector.
inline constexpr int kFolded = kBytes / 16;
#if ADJ_AVX512
/// In every 16 bytes of the result, the sums of v[0] to v[3] over theirs.
inline F32 fold_four(const F32 (&v)[4]) {
  const auto pair = [](F32 a, F32 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
           __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  };
  const F32 a = pair(v[0], v[1]), b = pair(v[2], v[3]);
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
         __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
/// 16 bytes, the i-th of the result, are the sum of v[i]'s.
inline F32 fold_entries(const F32 (&v)[kFolded]) {
  const auto pair = [](F32 a, F32 b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  };
  const F32 a = pair(v[0], v[1]), b = pair(v[2], v[3]);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
#elif defined(__AVX2__)
inline F32 fold_four(const F32 (&v)[4]) {
  const auto pair = [](F32 a, F32 b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
           __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  };
  const F32 a = pair(v[0], v[1]), b = pair(v[2], v[3]);
  return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
         __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
inline F32 fold_entries(const F32 (&v)[kFolded]) {
  return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
}
#else
inline F32 fold_four(const F32 (&v)[4]) {
  const auto pair = [](F32 a, F32 b) {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  };
  const F32 a = pair(v[0], v[1]), b = pair(v[2], v[3]);
  return __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
}
inline F32 fold_entries(const F32 (&v)[kFolded]) { return v[0]; }
#endif

/// sums[i] = sum of v[i]'s lanes; for float32 in the order of folded(fold_four(v)).
inline void sum_each(const F32 (&v)[4], float* sums) {
  const F32x4 each = folded(fold_four(v));
  std::memcpy(sums, &each, sizeof each);
}
inline void sum_each(const F64 (&v)[4], double* sums) {
#if defined(__AVX2__)
#if ADJ_AVX512
  const F64x4 a = halves(v[0]), b = halves(v[1]), c = halves(v[2]), d = halves(v[3]);
#else
  const auto& [a, b, c, d] = v;
#endif
  const F64x4 ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const F64x4 cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  const F64x4 each =
      __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  std::memcpy(sums, &each, sizeof each);
#else
  for (int i = 0; i < 4; ++i) sums[i] = sum(v[i]);
#endif
}

}  // namespace simd

/// Entries summed before they join the running total: the rounding error grows with this number and the
/// number of such sums, not with that of all entries.
inline constexpr int64_t kSummed = 128;

/// Gathered feature rows x[columns[k]] of the entries.
template <class R>
struct GatheredRows {
  const R* x;
  const int32_t* columns;
  int64_t pitch;
  const int32_t* last = nullptr;  ///< of the structure's columns; null: rows are cached, no prefetch

  const R* operator[](int64_t k) const { return x + columns[k] * pitch; }
  GatheredRows skip(int64_t k) const { return {x, columns + k, pitch, last}; }
  /// Prefetches columns of a row needed soon.
  template <int64_t kCount>
  [[gnu::always_inline]] void prefetch(int64_t k, int64_t first) const {
    if (last == nullptr) return;
    const R* row = x + *std::min(columns + k + kAhead, last) * pitch + first;
#pragma GCC unroll 8
    for (int64_t c = 0; c < kCount; c += 64 / int64_t{sizeof(R)}) __builtin_prefetch(row + c, 0, 2);
  }
  void prefetch(int64_t k, int64_t first, int64_t count) const {
    if (last == nullptr) return;
    const R* row = x + *std::min(columns + k + kAhead, last) * pitch + first;
    for (int64_t c = 0; c < count; c += 64 / static_cast<int64_t>(sizeof(R)))
      __builtin_prefetch(row + c, 0, 2);
  }
};

/// Contiguous rows.
template <class R>
struct ConsecutiveRows {
  const R* x;
  int64_t pitch;

  const R* operator[](int64_t k) const { return x + k * pitch; }
  ConsecutiveRows skip(int64_t k) const { return {x + k * pitch, pitch}; }
  template <int64_t kCount>
  void prefetch(int64_t, int64_t) const {}
  void prefetch(int64_t, int64_t, int64_t) const {}
};

/// Sums of w x.
template <class S>
struct Weighted {
  using V = Vector<S>;
  struct Held {};

  Held hold(auto&&) const { return {}; }
  V operator()(V sum, Held, V w, V x) const { return sum + w * x; }
};

/// ⟨operand, x⟩.
template <class S, class R = S>
struct DotWith {
  using V = Vector<S>;
  using Held = V;
  const R* operand;

  Held hold(auto&& load) const { return load(operand); }
  V operator()(V sum, V held, V x) const { return sum + held * x; }
};

template <class S>
struct HeadRows {
  using T = Scalar<S>;
  using V = Vector<S>;
  using Lanes = std::conditional_t<sizeof(T) == 8, simd::I64, simd::I32>;
  static constexpr int64_t kLane = kLanes<S>;

  int64_t heads;
  int64_t width;  ///< per head
  int64_t pitch;  ///< per row
  int64_t head_vectors;
  int head_tail;  ///< elements of a head's last vector
  bool narrow;    ///< rows of NarrowRows
  /// Per vector of a row, the head of its first lane, and per lane the head's offset from it.
  std::vector<int64_t> first_head;
  std::vector<Lanes> lanes;

  HeadRows(int64_t head_count, int64_t head_width)
      : heads(head_count),
        width(head_width),
        pitch(heads * width),
        head_vectors(ceil_div(width, kLane)),
        head_tail(static_cast<int>(width - (head_vectors - 1) * kLane)),
        narrow(are_narrow<S>(heads, width)) {
    for (int64_t column = 0; column < pitch; column += kLane) {
      first_head.push_back(column / width);
      Lanes lane{};
      for (int64_t l = 0; l < kLane; ++l)
        lane[l] = static_cast<std::remove_reference_t<decltype(lane[0])>>(
            std::min((column + l) / width, heads - 1) - column / width);
      lanes.push_back(lane);
    }
  }

  /// Entries per span: with two matrices, rows gathered again stay in L2 meanwhile, and each matrix has that
  /// cache for a while to itself.
  int64_t span() const { return std::clamp<int64_t>(131072 / (pitch * int64_t{sizeof(S)}), 16, 512); }
  /// The same for computed rows, which should stay in L1, or at least L2.
  int64_t span_of_made_rows() const {
    return std::clamp<int64_t>(24576 / (pitch * int64_t{sizeof(S)}), 16, 128);
  }

  /// out[k, h] = the sum of op over the columns of head h. `op` keeps its operand of the current columns,
  /// hold(load), where load(row) gives a vector of them, and accumulates a vector of a row: op(sum, held, x).
  template <class Rows, class Op>
  void dots(int64_t count, const Rows& rows, const Op& op, T* out) const {
    // A single row is faster without the specialized shapes.
    if (count > 1 && narrow)
      return with_narrow_pitch<S>(pitch, [&]<int kPitch>() {
        dispatch_value<1, 2, 4, 8>(width, [&]<int kWidth>() {
          if constexpr (kWidth <= kPitch && kPitch <= 8 * kWidth)
            NarrowRows<S, kPitch>::template dots<kWidth>(count, rows, op, out);
        });
      });
    dot_groups(count, rows, op, out);
  }
  /// The same for gathered rows of this pitch, compiled once (head_rows.cpp).
  void dots(int64_t count, const GatheredRows<S>& rows, const DotWith<S>& op, T* out) const {
    gathered_dots(count, rows.x, rows.columns, rows.last, op.operand, out);
  }
  /// out[h] = ⟨operand - less, row⟩ over head h; `less` may be null.
  template <class R>
  void dot(const R* row, const S* operand, const S* less, T* out) const;

  /// sum[f] (+)= Σ_k term of w[k, head of f] and row k; from 0 if `fresh`. `term` is like `op` above:
  /// term(sum, held, weights, x).
  template <class Rows, class Term>
  [[gnu::always_inline]] void accumulate(int64_t count, const T* w, const Rows& rows, const Term& term,
                                         bool fresh, T* sum) const {
    accumulate<1>(count, {w}, rows, term, fresh, {sum});
  }
  /// Sums of w x, compiled once, for gathered rows of this pitch.
  void accumulate(int64_t count, const T* w, const GatheredRows<S>& rows, bool fresh, T* sum) const {
    gathered_sums(count, w, rows.x, rows.columns, rows.last, fresh, sum);
  }
  /// Two weighted sums in one pass over the rows.
  void accumulate_two(int64_t count, const T* w, const T* w2, const GatheredRows<S>& rows, bool fresh, T* sum,
                      T* sum2) const;

  /// Calls f(first column, elements, vector number) for the vectors of a row.
  template <class F>
  void each_vector(F&& f) const {
    for (int64_t column = 0, v = 0; column < pitch; column += kLane, ++v)
      f(column, static_cast<int>(std::min(kLane, pitch - column)), v);
  }
  /// values[head] in the lanes of vector v.
  V expanded(const T* values, int64_t v) const {
    const T* p = values + first_head[static_cast<size_t>(v)];
    return width % kLane == 0 ? *p - V{} : simd::permute(simd::load(p), lanes[static_cast<size_t>(v)]);
  }

 private:
  // Members of the rows, which are in registers: a structure in memory costs a row of few entries 5 to 10 %.
  void gathered_dots(int64_t count, const S* x, const int32_t* columns, const int32_t* last, const S* operand,
                     T* out) const;
  void gathered_sums(int64_t count, const T* w, const S* x, const int32_t* columns, const int32_t* last,
                     bool fresh, T* sum) const;

  template <class Rows, class Op>
  void dot_groups(int64_t count, const Rows& rows, const Op& op, T* out) const {
    int64_t head = 0;
    if constexpr (sizeof(T) == 4) {
      for (; head + 4 <= heads; head += 4)
        dispatch_value<1, 2, 0>(head_vectors, [&]<int N>() { dot_group<4, N>(head, count, rows, op, out); });
      for (; head < heads; ++head)
        dispatch_value<1, 2, 4, 0>(head_vectors,
                                   [&]<int N>() { dot_group<1, N>(head, count, rows, op, out); });
    } else {
      for (; head < heads; ++head) dot_group<1, 0>(head, count, rows, op, out);
    }
  }

  /// Loads `n` columns of a row from `column` on.
  static auto columns(int64_t column, int n) {
    return [=](const auto* row) { return simd::load_first(row + column, n); };
  }
  /// Dots of kHeads heads, of N vectors each (0: any number). Dimensions and rows are passed by value: stores
  /// could alias them otherwise, and they would be reloaded.
  template <int kHeads, int N, class Rows, class Op>
  void dot_group(int64_t head, int64_t count, Rows rows, const Op& op, T* out) const {
    const int64_t vectors = N > 0 ? N : head_vectors, all_heads = heads, head_width = width;
    const int tail = head_tail;
    const auto elements = [=](int64_t v) { return v == vectors - 1 ? tail : static_cast<int>(kLane); };
    typename Op::Held held[N > 0 ? kHeads * N : 1];
    if constexpr (N > 0)
#pragma GCC unroll 4
      for (int q = 0; q < kHeads; ++q)
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v)
          held[q * N + v] = op.hold(columns((head + q) * head_width + v * kLane, elements(v)));
    // sum[q] = lane-wise sums over the columns of head + q at entry k.
    const auto add_columns = [&](int64_t k, V * sum) __attribute__((always_inline)) {
      if constexpr (N > 0) {
        rows.template prefetch<kHeads * N * kLane>(k, head * head_width);
      } else {
        rows.prefetch(k, head * head_width, kHeads * head_width);
      }
      const auto* row = rows[k] + head * head_width;
#pragma GCC unroll 4
      for (int q = 0; q < kHeads; ++q) {
        V one{};
        const auto* x = row + q * head_width;
        if constexpr (N > 0) {
#pragma GCC unroll 4
          for (int v = 0; v < N; ++v)
            one = op(one, held[q * N + v], simd::load_first(x + v * kLane, elements(v)));
        } else {
          for (int64_t v = 0; v < vectors; ++v)
            one = op(one, op.hold(columns((head + q) * head_width + v * kLane, elements(v))),
                     simd::load_first(x + v * kLane, elements(v)));
        }
        sum[q] = one;
      }
    };
    V sum[4];
    if constexpr (kHeads == 1) {
      for (int64_t k = 0; k < count; k += 4) {
#pragma GCC unroll 4
        for (int e = 0; e < 4; ++e) add_columns(std::min(k + e, count - 1), sum + e);
        T each[4];
        simd::sum_each(sum, each);
        for (int e = 0; e < std::min<int64_t>(4, count - k); ++e) out[(k + e) * all_heads + head] = each[e];
      }
    } else {
      int64_t k = 0;
      if constexpr (sizeof(T) == 4) {
        constexpr int kEntries = simd::kFolded;  // share the last folds
        for (; k + kEntries <= count; k += kEntries) {
          V entry[kEntries];
#pragma GCC unroll 4
          for (int e = 0; e < kEntries; ++e) {
            add_columns(k + e, sum);
            entry[e] = simd::fold_four(sum);
          }
          const V result = simd::fold_entries(entry);
          if (all_heads == 4) {
            simd::store(out + k * 4, result);
            continue;
          }
          T each[kLane];
          simd::store(each, result);
          for (int e = 0; e < kEntries; ++e) std::copy_n(each + 4 * e, 4, out + (k + e) * all_heads + head);
        }
      }
      for (; k < count; ++k) {
        add_columns(k, sum);
        simd::sum_each(sum, out + k * all_heads + head);
      }
    }
  }

  /// f with kKind 0: one head; 1: each vector lies in one head; 2: a vector may span heads.
  template <class F>
  void with_kind(F&& f) const {
    if constexpr (sizeof(T) == 4) {
      if (heads == 1) return f.template operator()<0>();
      if (width % kLane == 0) return f.template operator()<1>();
    }
    f.template operator()<2>();
  }

  template <int kSums, class Rows, class Term>
  [[gnu::always_inline]] void accumulate(int64_t count, std::array<const T*, kSums> w, const Rows& rows,
                                         const Term& term, bool fresh, std::array<T*, kSums> sum) const {
    for (int64_t k = 0; k < count || (fresh && k == 0); k += kSummed) {
      const int64_t n = std::min(count - k, kSummed);
      const Rows piece = rows.skip(k);
      std::array<const T*, kSums> weights = w;
      for (const T*& weight : weights) weight += k * heads;
      const bool first = fresh && k == 0;
      if (narrow) {
        with_narrow_pitch<S>(pitch, [&]<int kPitch>() {
          NarrowRows<S, kPitch>::template accumulate<kSums>(width, n, weights, piece, term, first, sum);
        });
      } else {
        with_kind([&]<int kKind>() { accumulate_wide<kKind, kSums>(n, weights, piece, term, first, sum); });
      }
    }
  }
  template <int kKind, int kSums, class Rows, class Term>
  void accumulate_wide(int64_t count, std::array<const T*, kSums> w, const Rows& rows, const Term& term,
                       bool fresh, std::array<T*, kSums> sum) const {
    for_blocks<S>(pitch, [&]<int B>(int64_t first, int tail) {
      V total[kSums][B];
      typename Term::Held held[B];
      [[maybe_unused]] int64_t head[B];
      [[maybe_unused]] Lanes lane[B];
#pragma GCC unroll 8
      for (int v = 0; v < B; ++v) {
        const int64_t vector = first / kLane + v;
        held[v] = term.hold(columns(first + v * kLane, v == B - 1 ? tail : static_cast<int>(kLane)));
        if constexpr (kKind > 0) head[v] = first_head[static_cast<size_t>(vector)];
        if constexpr (kKind == 2) lane[v] = lanes[static_cast<size_t>(vector)];
#pragma GCC unroll 2
        for (int s = 0; s < kSums; ++s) total[s][v] = V{};
      }
      for (int64_t k = 0; k < count; ++k) {
        rows.template prefetch<B * kLane>(k, first);
        V row[B];
        load_row<B>(rows[k] + first, tail, row);
#pragma GCC unroll 2
        for (int s = 0; s < kSums; ++s) {
          const T* weight = w[static_cast<size_t>(s)] + k * heads;
#pragma GCC unroll 8
          for (int v = 0; v < B; ++v) {
            if constexpr (kKind == 2) {
              const V factor = simd::permute(simd::load(weight + head[v]), lane[v]);
              total[s][v] = term(total[s][v], held[v], factor, row[v]);
            } else {
              const V factor = (kKind == 0 ? weight[0] : weight[head[v]]) - V{};
              total[s][v] = term(total[s][v], held[v], factor, row[v]);
            }
          }
        }
      }
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) {
        T* output = sum[static_cast<size_t>(s)] + first;
        if (!fresh) {
          V before[B];
          load_block<T, B>(output, tail, before);
#pragma GCC unroll 8
          for (int v = 0; v < B; ++v) total[s][v] += before[v];
        }
        store_block<T, B>(output, tail, total[s]);
      }
    });
  }

  /// Rows are stored as S or as accumulators.
  template <int B, class R>
  [[gnu::always_inline]] static void load_row(const R* p, int tail, V (&v)[B]) {
    load_block<R, B>(p, tail, v);
  }
};

/// output[k, h] = number h of row k, rows of H numbers.
template <int kHeads, class T>
void gather_terms(int64_t heads, GatheredRows<T> rows, int64_t count, T* output) {
  const int64_t n = kHeads > 0 ? kHeads : heads;
  rows.pitch = n;
  for (int64_t k = 0; k < count; ++k) {
    rows.template prefetch<1>(k, 0);
    if constexpr (kHeads > 0) {
      store_few(output + k * n, load_few<kHeads>(rows[k]));
    } else {
      std::copy_n(rows[k], n, output + k * n);
    }
  }
}
template <class T>
void gather_terms(int64_t heads, const GatheredRows<T>& rows, int64_t count, T* output) {
  with_few(heads, [&]<int kHeads>() { gather_terms<kHeads>(heads, rows, count, output); });
}

/// Values per entry and head, [k H + h], as a flat array, processed by vectors if a vector holds whole
/// entries.
template <class T>
class ByHead {
 public:
  using V = Vector<T>;
  static constexpr int64_t kLane = kLanes<T>;

  explicit ByHead(int64_t heads) : heads_(heads), even_(kLane % heads == 0) {
    if (!even_) return;
    for (int64_t l = 0; l < kLane; ++l) {
      lane_[l] = static_cast<Index>(l);
      head_[l] = static_cast<Index>(l % heads);
    }
    for (int64_t step = kLane / 2; step >= heads; step /= 2, ++steps_)
      for (int64_t l = 0; l < kLane; ++l) across_[steps_][l] = static_cast<Index>(l ^ step);
  }

  /// result[h] = max(result[h], max_k e[k, h]); NaN never wins.
  void largest(const T* e, int64_t count, T* result) const {
    reduce(
        e, count, std::numeric_limits<T>::lowest(), result, [](V a, V b) { return simd::larger(b, a); },
        [](T a, T b) { return b > a ? b : a; });
  }
  /// sums[h] += Σ_k e[k, h], in runs of kSummed entries.
  void add(const T* e, int64_t count, T* sums) const {
    for (int64_t k = 0; k < count; k += kSummed)
      reduce(e + k * heads_, std::min(count - k, kSummed), T{0}, sums, std::plus(), std::plus());
  }
  /// y[k, h] = a[k, h] y[k, h] - b[k, h] factors[h].
  void multiply_and_subtract(const T* a, const T* b, const T* factors, int64_t count, T* y) const {
    const int64_t n = count * heads_;
    if (even_) {
      const V factor = repeated(factors);
      for (int64_t i = 0; i < n; i += kLane) {
        const V result = simd::load(a + i) * simd::load(y + i) - simd::load(b + i) * factor;
        simd::store_first(y + i, result, static_cast<int>(std::min(kLane, n - i)));
      }
      return;
    }
    for (int64_t i = 0; i < n; i += heads_)
      for (int64_t h = 0; h < heads_; ++h) y[i + h] = a[i + h] * y[i + h] - b[i + h] * factors[h];
  }

  /// e[k, h] = op(e[k, h], operands[h]), by numbers or vectors.
  template <class F>
  void combine(T* e, int64_t count, const T* operands, F&& op) const {
    const int64_t n = count * heads_;
    if (!even_) {
      for (int64_t i = 0; i < n; i += heads_)
        for (int64_t h = 0; h < heads_; ++h) e[i + h] = op(e[i + h], operands[h]);
      return;
    }
    const V operand = repeated(operands);
    int64_t i = 0;
    for (; i + kLane <= n; i += kLane) simd::store(e + i, op(simd::load(e + i), operand));
    if (i < n) simd::store_first(e + i, op(simd::load(e + i), operand), static_cast<int>(n - i));
  }

 private:
  using Lanes = std::conditional_t<sizeof(T) == 8, simd::I64, simd::I32>;
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

  /// numbers[h] in the lanes of whole entries.
  V repeated(const T* numbers) const {
    return simd::permute(simd::load_first(numbers, static_cast<int>(heads_)), head_);
  }
  /// result[h] = op(result[h], reduction of all e[k, h]), with `none` the neutral element.
  template <class F, class G>
  void reduce(const T* e, int64_t count, T none, T* result, F&& of_vectors, G&& of_numbers) const {
    const int64_t n = count * heads_;
    if (!even_) {
      for (int64_t h = 0; h < heads_; ++h) {
        T all = none;
        for (int64_t i = h; i < n; i += heads_) all = of_numbers(all, e[i]);
        result[h] = of_numbers(result[h], all);
      }
      return;
    }
    V all = none - V{};
    int64_t i = 0;
    for (; i + kLane <= n; i += kLane) all = of_vectors(all, simd::load(e + i));
    if (i < n) all = of_vectors(all, lane_ < static_cast<Index>(n - i) ? simd::load(e + i) : none - V{});
    for (int step = 0; step < steps_; ++step) all = of_vectors(all, simd::permute(all, across_[step]));
    const int heads = static_cast<int>(heads_);
    simd::store_first(result, of_vectors(simd::load_first(result, heads), all), heads);
  }

  int64_t heads_;
  bool even_;
  Lanes lane_{};
  Lanes head_{};
  Lanes across_[4]{};
  int steps_ = 0;
};

}  // namespace adj::kernels::cpu
