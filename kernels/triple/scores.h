#pragma once

#include <adjoint/kernels/dense/gemm.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/triple.h>

namespace adj::kernels {

namespace detail {

inline void check_scored(std::string_view op, TripleScore score, const Tensor& q, const Tensor& t) {
  check_matrix(op, {{"q", q}, {"t", t}});
  ADJ_CHECK(q.dtype() != DType::bf16, "{}: q is {}, expected float32 or float64", op, q.str());
  check_tensor(op, "t", t, {t.size(0), q.size(1)}, q.dtype(), q.device());
  ADJ_CHECK(score != TripleScore::modulus || q.size(1) % 2 == 0,
            "{}: q is {}, expected an even width for complex numbers", op, q.str());
}

}  // namespace detail

/// y[i] = the score of q[i, :] and t[(i + shift) mod Q, :]; q and t [Q,D], y [Q].
struct PairedScoresArgs {
  TripleScore score;  ///< of a query and an entity
  const Tensor& q;    ///< queries
  const Tensor& t;    ///< entities
  int64_t shift;      ///< of the rows of t
  Tensor& y;          ///< the result

  Device device() const { return q.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    detail::check_scored(op, score, q, t);
    check_like(op, "t", t, q);
    check_tensor(op, "y", y, {q.size(0)}, q.dtype(), q.device());
  }
};
ADJ_KERNEL(paired_scores, PairedScoresArgs)  ///< Scores of queries with one entity each.

/// Their gradients dq and dt [Q,D], from dy [Q] and the scores y. At a distance of 0 that of a root is 0.
struct PairedScoresBackwardArgs {
  TripleScore score;  ///< as in the forward pass
  const Tensor& q;    ///< likewise
  const Tensor& t;    ///< likewise
  int64_t shift;      ///< likewise
  const Tensor& y;    ///< the scores
  const Tensor& dy;   ///< their gradient
  Tensor& dq;         ///< the result
  Tensor& dt;         ///< the result

  void check(std::string_view op) const {
    detail::check_scored(op, score, q, t);
    check_like(op, {{"t", t}, {"dq", dq}, {"dt", dt}}, q);
    check_tensor(op, {{"y", y}, {"dy", dy}}, {q.size(0)}, q.dtype(), q.device());
  }
};
ADJ_KERNEL(paired_scores_backward, PairedScoresBackwardArgs)  ///< Gradients of paired scores.

/// y[i,k] = the score of q[i, :] and t[k, :]; q [Q,D], t [K,D], y [Q,K]. For dot products gemm() is meant.
struct EntityDistancesArgs {
  TripleScore score;  ///< not dot
  const Tensor& q;    ///< queries
  const Tensor& t;    ///< entities
  Tensor& y;          ///< the result

  Device device() const { return q.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    detail::check_scored(op, score, q, t);
    ADJ_CHECK(score != TripleScore::dot, "{}: expected a distance, got a dot product (gemm)", op);
    check_tensor(op, "y", y, {q.size(0), t.size(0)}, q.dtype(), q.device());
  }
};
ADJ_KERNEL(entity_distances, EntityDistancesArgs)  ///< Distances of queries and all of some entities.

/// The gradient of one side of the scores y from dy, both [Q,K]: dx [Q,D] of the queries `x` with the
/// entities `other` [K,D], or, with `turned`, dx [K,D] of the entities `x` with the queries `other` [Q,D].
/// Adds to dx with `accumulate`. Each row has one owner, who adds in the order of the others.
struct EntityDistancesBackwardArgs {
  TripleScore score;    ///< as in the forward pass
  const Tensor& x;      ///< the side whose gradient it is
  const Tensor& other;  ///< the other side
  bool turned;          ///< x are the entities
  const Tensor& y;      ///< the scores
  const Tensor& dy;     ///< their gradient
  bool accumulate;      ///< add to dx
  Tensor& dx;           ///< the result

  void check(std::string_view op) const {
    detail::check_scored(op, score, x, other);
    ADJ_CHECK(score != TripleScore::dot, "{}: expected a distance, got a dot product (gemm)", op);
    check_tensor(op, {{"y", y}, {"dy", dy}}, {(turned ? other : x).size(0), (turned ? x : other).size(0)},
                 x.dtype(), x.device());
    check_like(op, "dx", dx, x);
  }
};
ADJ_KERNEL(entity_distances_backward, EntityDistancesBackwardArgs)  ///< Gradients of distances.

/// y [Q,K] = the scores of queries q [Q,D] and entities t [K,D], by a product or by distances.
inline void score_entities(TripleScore score, const Tensor& q, const Tensor& t, Tensor& y) {
  if (score == TripleScore::dot)
    gemm({.a = q, .b = t, .trans_b = Transpose::yes, .c = y});
  else
    entity_distances({.score = score, .q = q, .t = t, .y = y});
}

}  // namespace adj::kernels
