#pragma once

// Attention over what a cut leaves to rows of CSR, by the walks of launch.cuh, over the operands that its
// tiles are computed from: rows of 16 bits, in float32 arithmetic. Compiled in a file for each score and
// operand.

#include <adjoint/kernels/tiles/cuda/tile_attention.h>

namespace adj::kernels::cuda {

/// What results of operands S are stored as: float32 of float16, bfloat16 of bfloat16. They are in units of
/// the operands: what comes of v is to be multiplied by v.scale(), and so on; `lse` is not.
///
/// o [targets, H D] and lse [targets,H] of the rest alone.
template <class S>
void run_dot_rest(const Csr& rest, const AttentionOperands& x, Tensor& o, Tensor& lse);
template <class S>
void run_gat_rest(const Csr& rest, const AttentionOperands& x, Tensor& o, Tensor& lse);

/// Gradients over both rests, with lse and Δ of whole rows, Δ in units of d_o and v; absent ones are not
/// asked for. dq [targets, H D], dk and dv [sources, H D].
template <class S>
void run_dot_rest_backward(const Csr& rest, const Csr& rest_at, const AttentionOperands& x, const Tensor& lse,
                           Tensor& delta, Tensor& dq, Tensor& dk, Tensor& dv);
/// dl [targets,H], dr [sources,H] and dx [sources, H D].
template <class S>
void run_gat_rest_backward(const Csr& rest, const Csr& rest_at, const AttentionOperands& x, const Tensor& lse,
                           Tensor& delta, Tensor& dl, Tensor& dr, Tensor& dx);

}  // namespace adj::kernels::cuda
