#pragma once

#include <adjoint/core/dtype.h>
#include <adjoint/kernels/types/triple.h>

#include <cfloat>
#include <cmath>
#include <type_traits>

// The arithmetic of one coordinate, on either device. A unit is a coordinate, or of complex numbers a pair of
// them, d and d + half.
namespace adj::kernels {

/// Units of a row of `width` numbers.
constexpr int64_t units_of(bool complex, int64_t width) { return complex ? width / 2 : width; }

/// Real and imaginary part of a relation's unit; conjugated for an inverse query.
template <class T>
struct Factor {
  T re;  ///< cosine of RotatE's angle
  T im;  ///< sine of it
  ADJ_HOST_DEVICE Factor(TripleModel model, const T* relation, int64_t d, int64_t half, bool inverse) {
    if (model == TripleModel::rotate) {
      re = std::cos(relation[d]);
      im = std::sin(relation[d]);
    } else {
      re = relation[d];
      im = relation[d + half];
    }
    if (inverse) im = -im;
  }
};

/// Writes unit d of the query of entity `x`; not for RESCAL.
template <class T>
ADJ_HOST_DEVICE inline void query_unit(TripleModel model, bool inverse, const T* x, const T* relation, T* q,
                                       int64_t d, int64_t half) {
  if (model == TripleModel::transe) {
    q[d] = inverse ? x[d] - relation[d] : x[d] + relation[d];
  } else if (model == TripleModel::distmult) {
    q[d] = x[d] * relation[d];
  } else {
    const Factor<T> r(model, relation, d, half, inverse);
    const T re = x[d], im = x[d + half];
    q[d] = re * r.re - im * r.im;
    q[d + half] = re * r.im + im * r.re;
  }
}

/// Its gradients: writes dx, adds to the gradient of the relation's unit.
template <class T>
ADJ_HOST_DEVICE inline void query_unit_backward(TripleModel model, bool inverse, const T* x,
                                                const T* relation, const T* dq, T* dx, T& d_re, T& d_im,
                                                int64_t d, int64_t half) {
  if (model == TripleModel::transe) {
    dx[d] = dq[d];
    d_re += inverse ? -dq[d] : dq[d];
  } else if (model == TripleModel::distmult) {
    dx[d] = dq[d] * relation[d];
    d_re += dq[d] * x[d];
  } else {
    const Factor<T> r(model, relation, d, half, inverse);
    const T re = x[d], im = x[d + half], dre = dq[d], dim = dq[d + half];
    dx[d] = dre * r.re + dim * r.im;
    dx[d + half] = dim * r.re - dre * r.im;
    const T of_re = dre * re + dim * im, of_im = dim * re - dre * im;
    if (model == TripleModel::rotate) {  // d(re, im)/d angle = (-im, re), with the sign of the conjugate
      const T turned = of_im * r.re - of_re * r.im;
      d_re += inverse ? -turned : turned;
    } else {
      d_re += of_re;
      d_im += inverse ? -of_im : of_im;
    }
  }
}

/// √x, on a GPU in float32 by one instruction of its special functions, which bound the sums of moduli: it is
/// exact to an ulp or so, and 0 for subnormal numbers.
template <class T>
ADJ_HOST_DEVICE inline T fast_root(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) {
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x));
    return x;
  }
#endif
  return std::sqrt(x);
}
/// 1 / √x likewise; 0 where √x is.
template <class T>
ADJ_HOST_DEVICE inline T fast_inverse_root(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return x >= FLT_MIN ? y : 0.0f;
  }
#endif
  return x > 0 ? T{1} / std::sqrt(x) : T{0};
}

/// One unit's term of a distance: of its difference (re, im).
template <TripleScore kScore, class T>
ADJ_HOST_DEVICE inline T distance_term(T re, T im) {
  if constexpr (kScore == TripleScore::dot) return re * im;  // of the two numbers themselves
  if constexpr (kScore == TripleScore::l1) return std::abs(re);
  if constexpr (kScore == TripleScore::l2) return re * re;
  return fast_root(re * re + im * im);
}
/// The score of summed terms.
template <TripleScore kScore, class T>
ADJ_HOST_DEVICE inline T score_of_sum(T sum) {
  if constexpr (kScore == TripleScore::dot) return sum;
  if constexpr (kScore == TripleScore::l2) return -std::sqrt(sum);
  return -sum;
}
/// The factor of a unit's gradient that depends on score and its gradient alone; 0 at a distance of 0.
template <TripleScore kScore, class T>
ADJ_HOST_DEVICE inline T score_weight(T dscore, T score) {
  if constexpr (kScore == TripleScore::l2) return score < 0 ? dscore / -score : T{0};
  return dscore;
}
/// Adds weight * d score / d q of a unit with difference (re, im) = q - t; that of t is its negative.
template <TripleScore kScore, class T>
ADJ_HOST_DEVICE inline void add_direction(T weight, T re, T im, T& d_re, T& d_im) {
  if constexpr (kScore == TripleScore::l1) d_re -= re > 0 ? weight : re < 0 ? -weight : T{0};
  if constexpr (kScore == TripleScore::l2) d_re -= weight * re;
  if constexpr (kScore == TripleScore::modulus) {
    const T share = weight * fast_inverse_root(re * re + im * im);
    d_re -= share * re;
    d_im -= share * im;
  }
}

/// Calls `f.template operator()<score>()` for a distance.
template <class F>
void dispatch_distance(TripleScore score, F&& f) {
  if (score == TripleScore::l1) return f.template operator()<TripleScore::l1>();
  if (score == TripleScore::l2) return f.template operator()<TripleScore::l2>();
  f.template operator()<TripleScore::modulus>();
}
/// The same for any score.
template <class F>
void dispatch_score(TripleScore score, F&& f) {
  if (score == TripleScore::dot) return f.template operator()<TripleScore::dot>();
  dispatch_distance(score, f);
}

/// log(1 + e^x).
template <class T>
ADJ_HOST_DEVICE inline T softplus(T x) {
  return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::abs(x)));
}
/// Its derivative, 1 / (1 + e^-x).
template <class T>
ADJ_HOST_DEVICE inline T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

}  // namespace adj::kernels
