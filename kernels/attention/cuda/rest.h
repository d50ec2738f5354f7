#pragma once

// Attention over the rest of a cut, as CSR rows, by the passes of launch.cuh on the same operands as its
// tiles: 16-bit rows, float32 arithmetic. Compiled in one file per score and operand type.

#include <adjoint/kernels/tiles/cuda/tile_attention.h>

namespace adj::kernels::cuda {

/// Results are stored as float32 for float16 operands and as bfloat16 for bfloat16. They are in operand units
/// (multiply results of v by v.scale(), and so on), except `lse`.
///
/// o [targets, H D] and lse [targets,H] of the rest alone.
template <class S>
void run_dot_rest(const Csr& rest, const AttentionOperands& x, Tensor& o, Tensor& lse);
template <class S>
void run_gat_rest(const Csr& rest, const AttentionOperands& x, Tensor& o, Tensor& lse);

/// Gradients over both rests, with lse and Δ of whole rows, Δ in units of d_o and v; outputs not needed are
/// absent. dq [targets, H D], dk and dv [sources, H D].
template <class S>
void run_dot_rest_backward(const Csr& rest, const Csr& rest_at, const AttentionOperands& x, const Tensor& lse,
                           Tensor& delta, Tensor& dq, Tensor& dk, Tensor& dv);
/// dl [targets,H], dr [sources,H] and dx [sources, H D].
template <class S>
void run_gat_rest_backward(const Csr& rest, const Csr& rest_at, const AttentionOperands& x, const Tensor& lse,
                           Tensor& delta, Tensor& dl, Tensor& dr, Tensor& dx);

}  // namespace adj::kernels::cuda
