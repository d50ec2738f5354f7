#pragma once

// Attention over the rest of a cut, as CSR rows, by the passes of launch.cuh on the same operands as its
// tiles: 16-bit rows, float32 arithmetic. Compiled in one file per score and operand type.

#include <adjoint/kernels/tiles/cuda/tile_attention.h>

namespace adj::kernels::cuda {

struct DotScore;
struct GatScore;

/// Results are stored as float32 for float16 operands and as bfloat16 for bfloat16. They are in operand units
/// (multiply results of v by v.scale(), and so on), except `lse`.
///
/// o [targets, H D] and lse [targets,H] of the rest alone.
template <class S, class Score>
void run_rest(const char* name, const Csr& rest, const AttentionOperands& x, Tensor& o, Tensor& lse);

/// Gradients of the rows of a pass; absent if not needed.
struct RestGradients {
  Tensor row = {};    ///< dq [targets, H D]; dk or dx [sources, H D]
  Tensor value = {};  ///< dv [sources, H D]
  Tensor term = {};   ///< dl [targets,H]; dr [sources,H]
};
/// Over both rests, with lse and Δ of whole rows, Δ in units of d_o and v.
template <class S, class Score>
void run_rest_backward(const char* name, const Csr& rest, const Csr& rest_at, const AttentionOperands& x,
                       const Tensor& lse, Tensor& delta, RestGradients by_target, RestGradients by_source);

}  // namespace adj::kernels::cuda
