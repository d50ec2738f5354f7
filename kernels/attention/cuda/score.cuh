#pragma once

// Score types: the logit of an entry with target i and source j. A score declares which node data it needs
// and defines the logit and its gradients; the passes are templates over it.
//
// Logits from feature rows are kept in powers of 2, with log2(e) multiplied into q and att, and without terms
// constant in a target's row.

#include <adjoint/kernels/attention/attention.h>
#include <adjoint/kernels/cuda/logits.cuh>

namespace adj::kernels::cuda {

/// Maximum; NaN if either is NaN.
__device__ __forceinline__ float larger(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ __forceinline__ double larger(double a, double b) { return a > b || a != a ? a : b; }

/// Fastest sizes of a pass (H200): entries per batch for rows of few, of middling and of many entries, and
/// threads per block for the last. Warps of a large block walk the same columns of long rows at the same
/// time; in small blocks no warp waits for the others' rows.
template <int few, int middling, int long_rows, int long_threads>
struct BatchSizes {
  static constexpr int kFew = few, kMiddling = middling, kLong = long_rows, kLongThreads = long_threads;
};
/// With edge terms: one size for all rows, a third of the kernels to compile.
using EdgeSizes = BatchSizes<4, 4, 4, 128>;

/// Defaults of a score.
struct AnyScore {
  static constexpr bool kRows = false;    ///< are logits sums over features of both rows?
  static constexpr bool kAtt = false;     ///< weighted by a vector att, which has a gradient?
  static constexpr bool kTerms = false;   ///< does a source have a scalar, terms()?
  static constexpr bool kScaled = false;  ///< is its value multiplied by that scalar?
  static constexpr bool kValues = false;  ///< are values separate rows, or the source's?
  static constexpr bool kBias = false;    ///< may O have a bias?
};

/// e = leaky_relu(l_i + r_j), one scalar each (gat.h). v_j is the source's row.
struct GatScore : AnyScore {
  static constexpr bool kTerms = true, kBias = true;
  template <class S>
  using ForwardSizes = BatchSizes<2, 4, 4, 128>;
  template <class S>
  using BackwardSizes = BatchSizes<2, 4, 4, 128>;
  /// The sources' scalars [sources,H].
  template <class Arguments>
  static __device__ __forceinline__ auto terms(const Arguments& a) {
    return a.r;
  }
  /// Internal value of a logit of 1. log2(e) is multiplied into the exponents here, so that the largest
  /// logits stay finite.
  template <class A>
  static constexpr A kUnit = A(1);
  /// exp of a difference of internal logits.
  template <class A>
  static __device__ __forceinline__ A power(A difference) {
    return power_of_2(difference * kLog2E<A>);
  }
};

/// Row scores. A pass sums logit() over a head's features, from the source's features and the transformed
/// target's: target() for gathered targets, target_factor() times the features of the row being walked (a
/// source pass multiplies the source row or the sum by q's factor). d_target() and d_source() accumulate the
/// gradient of a logit d into that of a feature, except for factors constant in a row: d_target_factor() by
/// target.
struct RowScore : AnyScore {
  static constexpr bool kRows = true;
  template <class A>
  static constexpr A kUnit = kLog2E<A>;
  template <class A>
  static __device__ __forceinline__ A power(A difference) {
    return power_of_2(difference);
  }
};

/// e = ⟨att, leaky_relu(l_i + r_j)⟩ = s ⟨att, r_j⟩ + (1 - s) ⟨att, max(r_j, -l_i)⟩ plus a term constant in a
/// target's row, s being the slope (gatv2.h). logit() is the second term. v_j is r_j.
struct Gatv2Score : RowScore {
  static constexpr bool kAtt = true, kBias = true;
  // Batches of eight do not fit in registers in bfloat16, whose lanes hold twice the features.
  template <class S>
  using ForwardSizes = BatchSizes<2, 4, sizeof(S) == 2 ? 4 : 8, 512>;
  template <class S>
  using BackwardSizes = BatchSizes<2, 4, sizeof(S) == 2 ? 4 : 8, 256>;
  template <class A>
  static __device__ __forceinline__ A target(A l) {
    return -l;
  }
  template <class Arguments>
  static __device__ __forceinline__ auto target_factor(const Arguments& a) {
    return decltype(a.slope)(-1);
  }
  template <class A>
  static __device__ __forceinline__ A logit(A sum, A source, A target, const A& att) {
    return fma(att, larger(source, target), sum);
  }
  template <class A>
  static __device__ __forceinline__ void d_target(A& sum, A d, A source, A target) {
    if (!(source <= target)) sum += d;  // NaN propagates
  }
  template <class A>
  static __device__ __forceinline__ void d_source(A& sum, A d, A source, A target) {
    d_target(sum, d, source, target);
  }
  template <class Arguments, class A>
  static __device__ __forceinline__ A d_target_factor(const Arguments& a, const A& att) {
    return (A(1) - a.slope) * kLn2<A> * att;
  }
};

/// e = scale ⟨q_i, k_j⟩ (dot_attention.h).
struct DotScore : RowScore {
  static constexpr bool kValues = true;
  template <class S>
  using ForwardSizes = BatchSizes<2, 8, 8, 512>;
  template <class S>
  using BackwardSizes = BatchSizes<2, 4, 4, 512>;
  template <class A>
  static __device__ __forceinline__ A target(A q) {
    return q;
  }
  template <class Arguments>
  static __device__ __forceinline__ auto target_factor(const Arguments& a) {
    return a.scale * kLog2E<decltype(a.scale)>;
  }
  template <class A>
  static __device__ __forceinline__ A logit(A sum, A source, A target, const A&) {
    return fma(target, source, sum);
  }
  template <class A>
  static __device__ __forceinline__ void d_target(A& sum, A d, A source, A) {
    sum = fma(d, source, sum);
  }
  template <class A>
  static __device__ __forceinline__ void d_source(A& sum, A d, A, A target) {
    sum = fma(d, target, sum);
  }
  template <class Arguments, class A>
  static __device__ __forceinline__ A d_target_factor(const Arguments& a, const A&) {
    return a.scale;
  }
};

/// The same with keys as values, v_j = s_j k_j.
struct KeyedScore : DotScore {
  static constexpr bool kValues = false, kTerms = true, kScaled = true;
  /// Null if all are 1.
  template <class Arguments>
  static __device__ __forceinline__ auto terms(const Arguments& a) {
    return a.s;
  }
};

/// Attention weight recomputed from its logit: at most 1, however the logit was rounded.
template <class Score, class A>
__device__ __forceinline__ A coefficient(A logit, A lse) {
  const A difference = logit - lse;
  return Score::power(difference > A(0) ? A(0) : difference);  // NaN propagates
}

}  // namespace adj::kernels::cuda
