#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/relation.h>

namespace adj::detail {

/// The relation's CSR, with edge values or none, for edge kernels.
inline CsrMatrix by_target(const Relation& relation, const Tensor& values = {}) {
  return {relation.csr(), values, relation.csr_order()};
}
inline CsrMatrix by_source(const Relation& relation, const Tensor& values = {}) {
  return {relation.transposed(), values, relation.transposed_order()};
}

/// Throws unless `x` is [nodes, …] with `least` to `most` dimensions.
inline void check_side(const char* op, const char* name, const Relation& relation, const Var& x,
                       int64_t nodes, int least, int most) {
  ADJ_CHECK(x && x.shape().dims() >= least && x.shape().dims() <= most && x.size(0) == nodes,
            "{}: {} is {}, expected {} with {} rows", op, name, x ? x.shape().str() : "absent",
            least == 1 ? "[N] or [N, H]" : "[N, F] or [N, H, D]", nodes);
  ADJ_CHECK(x.device() == relation.device(), "{}: relation on {}, {} on {}", op, relation.device().str(),
            name, x.device().str());
}
inline void check_of_edges(const char* op, const char* name, const Relation& relation, const Var& e) {
  ADJ_CHECK(e && (e.shape().dims() == 1 || e.shape().dims() == 2) && e.size(0) == relation.num_edges(),
            "{}: {} is {}, expected [{}] or [{}, H]", op, name, e ? e.shape().str() : "absent",
            relation.num_edges(), relation.num_edges());
}

/// [N, H, D] viewed as the matrix [N, H D].
inline Tensor as_matrix(const Tensor& x) {
  return x.dims() == 3 ? x.reshape({x.size(0), x.size(1) * x.size(2)}) : x;
}

/// y = w / (in-degree of the target); absent w means ones. Bitwise equal over the edge list and over CSR
/// rows.
void mean_weights(const Relation& relation, bool of_list, const Tensor& w, Tensor& y);
/// 1 / in-degree in the accumulator's dtype: [num_dst], or over an unsorted list [M], of each edge's target.
/// Cached with the relation.
Tensor mean_factors(const Relation& relation, DType features);

}  // namespace adj::detail
