#pragma once

#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/edge_mask.h>
#include <adjoint/core/error.h>
#include <adjoint/kernels/types/reduce.h>

#include <vector>

// Ops over edges while an EdgeMask is in force: they make the messages and reduce them.

namespace adj::detail {

/// [M'] the mask of each edge of the relation of `op`, 1 for added loops; absent if none is in force.
Var edge_mask(const char* op, const Relation& relation);
/// The reductions of messages [M, F] or [M, H, D] times a mask [M] over the edges of each target: [num_dst,
/// K F], or for one reduction the messages' shape.
Var reduce_masked(const Relation& relation, const Var& messages, const Var& mask,
                  const std::vector<Reduce>& reductions);
/// Σ_j m_ij α_ij v_ij [num_dst, H, D], α the softmax of `logits` [M, H] over the edges of a target, `values`
/// [M, H, D].
Var attend_masked(const Relation& relation, const Var& logits, const Var& values, const Var& mask);

/// Throws Error for attention dropout, which masked attention does not draw.
inline void require_no_dropout(const char* op, const AttentionOptions& options) {
  ADJ_CHECK(!options.training || options.dropout == 0.0f,
            "{}: dropout {} under an edge mask, expected evaluation mode", op, options.dropout);
}

}  // namespace adj::detail
