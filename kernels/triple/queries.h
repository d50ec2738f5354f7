#pragma once

#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/types/triple.h>

namespace adj::kernels {

namespace detail {

inline void check_queries(std::string_view op, TripleModel model, const Tensor& x, const Tensor& relation) {
  check_matrix(op, {{"x", x}, {"relation", relation}});
  ADJ_CHECK(x.dtype() != DType::bf16, "{}: x is {}, expected float32 or float64", op, x.str());
  ADJ_CHECK(!is_complex(model) || x.size(1) % 2 == 0,
            "{}: x is {}, expected an even width for complex numbers", op, x.str());
  check_tensor(op, "relation", relation, {relation.size(0), relation_width(model, x.size(1))}, x.dtype(),
               x.device());
  ADJ_CHECK(relation.size(0) > 0 ? x.size(0) % relation.size(0) == 0 : x.size(0) == 0,
            "{}: {} rows of entities, expected a multiple of the {} relations", op, x.size(0),
            relation.size(0));
}

}  // namespace detail

/// q[Q,D] = the queries of entities x[Q,D] by `model`: row i with the relation row i mod B of `relation`
/// [B, relation_width()]. Rows before `inverse` hold heads and ask for tails; those from it on hold tails and
/// ask for heads: with -r (TransE), the conjugate of r (ComplEx, RotatE) or R transposed (RESCAL), so that
/// both give the score of the triple.
struct TripleQueriesArgs {
  TripleModel model;       ///< how they meet
  const Tensor& x;         ///< entities
  const Tensor& relation;  ///< their relations
  int64_t inverse;         ///< first row that asks for heads
  Tensor& q;               ///< the result

  void check(std::string_view op) const {
    detail::check_queries(op, model, x, relation);
    check_like(op, "q", q, x);
  }
};
ADJ_KERNEL(triple_queries, TripleQueriesArgs)  ///< Queries for tails or heads.

/// Their gradients from dq[Q,D]: dx[Q,D], and drelation [B, relation_width()], in which the rows of a
/// relation are added in their order.
struct TripleQueriesBackwardArgs {
  TripleModel model;       ///< as in the forward pass
  const Tensor& x;         ///< likewise
  const Tensor& relation;  ///< likewise
  int64_t inverse;         ///< likewise
  const Tensor& dq;        ///< gradient of the queries
  Tensor& dx;              ///< the result
  Tensor& drelation;       ///< the result

  void check(std::string_view op) const {
    detail::check_queries(op, model, x, relation);
    check_like(op, {{"dq", dq}, {"dx", dx}}, x);
    check_like(op, "drelation", drelation, relation);
  }
};
ADJ_KERNEL(triple_queries_backward, TripleQueriesBackwardArgs)  ///< Gradients of queries.

}  // namespace adj::kernels
