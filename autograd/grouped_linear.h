// Linear maps by group: the rows of a group are multiplied by its own matrix, all groups in one product
// (kernels/dense/grouped_gemm.h). Rows may be picked from x while they are loaded, and are not stored.
#pragma once

#include <adjoint/autograd/variable.h>
#include <adjoint/graph/typed_edges.h>

#include <memory>

namespace adj {

namespace detail {
struct RowParts;
}

/// Rows by group: of x in order, or `picks` or `rows`.
struct RowGroups {
  Tensor offsets;  ///< int64 [G + 1]: group g has the rows from offsets[g] to offsets[g + 1]
  /// From the rows of x to those of the groups, one edge for each of the latter, in order: the row of x that
  /// it takes.
  Relation picks = {};
  /// int32 [M], each row once: the row of the result for each of the groups, and of x unless rows are picked
  /// (TypedRows).
  Tensor rows = {};
  /// The same rows by group and part of a rank's; or null. Gradients of weights and biases are sums over all
  /// ranks then, part by part in a fixed order: on the first rank, and zeros on others.
  std::shared_ptr<const detail::RowParts> parts = {};
};

/// y[k] = x[pick(k)] w_g + bias_g for the rows k of group g (PyG's HeteroLinear and segment_matmul). x [N, B
/// in], w [G B, in, out]: the block b of columns of x is multiplied by w[g B + b] (B = 1: one matrix per
/// group), bias [G, B out] optional; y [M, B out]. Saved: x and w. The gradient of x has [M, B in] numbers
/// during its pass if rows are picked. Throws Error if sizes do not match; contents of the offsets are
/// checked on the CPU only.
Var grouped_linear(const Var& x, const Var& w, const RowGroups& groups, const Var& bias = {});

/// y[t] = bias + Σ over the types r of target t of x[slot of t and r] w_r: x [slots, in], w [R, in, out],
/// bias [out] optional -> [targets, out]. For each range one product by the matrices of its types under each
/// other, so that nothing of [slots, out] is stored. Saved: x and w. Throws Error if sizes do not match.
Var slot_linear(const Var& x, const Var& w, const TypedSlots& slots, int64_t targets, const Var& bias = {});

/// The products a[k] b[k] of matrices: a [K, N, in], b [K, in, out] -> [K, N, out]. Throws Error if sizes do
/// not match.
Var bmm(const Var& a, const Var& b);

}  // namespace adj
