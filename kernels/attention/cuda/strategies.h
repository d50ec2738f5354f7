#pragma once

#include <adjoint/kernels/attention/dot_attention.h>
#include <adjoint/kernels/attention/gat.h>
#include <adjoint/kernels/attention/gatv2.h>

// The passes over a structure, compiled in one file per score and dtype. They do not see the edge features of
// gatv2 and dot attention, only one number per (edge, head), `c`.
namespace adj::kernels::cuda {

/// Edge terms of dot attention, accumulators [M,H] by edge number; any may be absent.
struct EdgeTerms {
  Tensor c;         ///< in: added to the logits
  Tensor logits;    ///< out, forward: the whole logits
  Tensor g;         ///< in, backward: added to ⟨dO_i, v_j⟩
  Tensor delta;     ///< in, backward, [rows,H]: added to Δ_i
  Tensor d_logits;  ///< out, backward: de
  Tensor weights;   ///< out, backward: m α
};

/// Tiles by tensor cores, the rest by the passes.
void dot_attention_over_tiles(const DotAttentionArgs& args);
void dot_attention_backward_over_tiles(const DotAttentionBackwardArgs& args);
void gat_over_tiles(const GatArgs& args);
void gat_backward_over_tiles(const GatBackwardArgs& args);

template <class S>
void run_gat(const GatArgs& args);
template <class S>
void run_gat_backward(const GatBackwardArgs& args);
template <class S>
void run_gatv2(const Gatv2Args& args);
template <class S>
void run_gatv2_backward(const Gatv2BackwardArgs& args);
template <class S>
void run_dot_attention(const DotAttentionArgs& args, const EdgeTerms& edges);
template <class S>
void run_dot_attention_backward(const DotAttentionBackwardArgs& args, const EdgeTerms& edges);

}  // namespace adj::kernels::cuda
