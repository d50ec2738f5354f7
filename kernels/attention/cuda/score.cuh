#pragma once

// The scores: what the logit of an entry is, of target i and source j, as the walks see it. A score is a type
// that says what it needs of a node, and what a logit and its gradients are; the walks are made for it.
//
// Logits of rows of features are kept in powers of 2, log2(e) being multiplied into q and att, and without
// what a whole row of targets shares.

#include <adjoint/kernels/attention/attention.h>

namespace adj::kernels::cuda {

template <class A>
constexpr A kLog2E = A(1.4426950408889634074);
template <class A>
constexpr A kLn2 = A(0.69314718055994530942);

/// 2^x.
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ double power_of_2(double x) { return exp2(x); }

/// The larger one; NaN where either is.
__device__ __forceinline__ float larger(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ __forceinline__ double larger(double a, double b) { return a > b || a != a ? a : b; }

/// What a score has unless it says otherwise.
struct AnyScore {
  static constexpr bool kRows = false;    ///< are logits sums over features of a target's and a source's row?
  static constexpr bool kAtt = false;     ///< weighed by a vector att, which has a gradient?
  static constexpr bool kTerms = false;   ///< does a source have a number, terms()?
  static constexpr bool kScaled = false;  ///< by which its value is multiplied?
  static constexpr bool kValues = false;  ///< are values rows of their own, or the source's?
  static constexpr bool kBias = false;    ///< may O have a bias?
};

/// e = leaky_relu(l_i + r_j), a number each (gat.h). v_j is the source's row.
struct GatScore : AnyScore {
  static constexpr bool kTerms = true, kBias = true;
  /// The sources' numbers [sources,H].
  template <class Arguments>
  static __device__ __forceinline__ auto terms(const Arguments& a) {
    return a.r;
  }
  /// What a logit of 1 is as the walks keep it. log2(e) is multiplied into the exponents here, so that the
  /// largest logits stay finite.
  template <class A>
  static constexpr A kUnit = A(1);
  /// exp of a difference of logits as they are kept.
  template <class A>
  static __device__ __forceinline__ A power(A difference) {
    return power_of_2(difference * kLog2E<A>);
  }
  template <class A>
  static __device__ __forceinline__ A logit(A z, A slope) {
    return z > A(0) ? z : slope * z;
  }
  /// d e / d z, of the sum z.
  template <class A>
  static __device__ __forceinline__ A d_logit(A z, const A& slope) {
    return z > A(0) ? A(1) : slope;
  }
};

/// Scores of rows. A walk sums logit() over a head's features: the source's, and of the target's what it
/// keeps of them, target() of those that it gathers, target_factor() times those of the row that it is at (a
/// walk by source multiplies the source's row or the sum by q's factor). d_target() and d_source() add what a
/// logit's gradient d brings to a feature's, but for what a whole row shares: d_target_factor() by target.
struct RowScore : AnyScore {
  static constexpr bool kRows = true;
  template <class A>
  static constexpr A kUnit = kLog2E<A>;
  template <class A>
  static __device__ __forceinline__ A power(A difference) {
    return power_of_2(difference);
  }
};

/// e = ⟨att, leaky_relu(l_i + r_j)⟩ = s ⟨att, r_j⟩ + (1 - s) ⟨att, max(r_j, -l_i)⟩ and what a whole row of
/// targets shares, s being the slope (gatv2.h). logit() is of the second half. v_j is r_j.
struct Gatv2Score : RowScore {
  static constexpr bool kAtt = true, kBias = true;
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
    if (!(source <= target)) sum += d;  // NaN stays
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

/// Likewise where keys are values, v_j = s_j k_j.
struct KeyedScore : DotScore {
  static constexpr bool kValues = false, kTerms = true, kScaled = true;
  /// Null where they are all 1.
  template <class Arguments>
  static __device__ __forceinline__ auto terms(const Arguments& a) {
    return a.s;
  }
};

/// A coefficient found again from its logit: 1 at most, however the logit was rounded.
template <class Score, class A>
__device__ __forceinline__ A coefficient(A logit, A lse) {
  const A difference = logit - lse;
  return Score::power(difference > A(0) ? A(0) : difference);  // NaN stays
}

}  // namespace adj::kernels::cuda
