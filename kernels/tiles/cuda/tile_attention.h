#pragma once

#include <adjoint/kernels/tiles/cuda/operands.h>

namespace adj::kernels::cuda {

/// Passes of attention over tiles. `forward` and `target_gradient` go over a cut of the structure itself,
/// whose rows are targets, `values` and `source_gradient` over one of the transposed structure.
enum class TilePass : uint8_t { forward, values, target_gradient, source_gradient };

/// Logits: `dot`, scale ⟨q_i, k_j⟩; `sum`, leaky_relu(l_i + r_j).
enum class TileScore : uint8_t { dot, sum };

/// What the passes of one attention have in common, over tiles and over what a cut leaves beside them. Heads
/// have v.pitch features, kWidestTileHead at most.
struct AttentionOperands {
  TileScore score;
  int64_t heads;
  float scale = 0;                         ///< dot
  OperandFeatures q = {}, k = {};          ///< dot: [targets H, D], [sources H, D]
  OperandFeatures v = {}, d_o = {};        ///< d_o: backward
  const float *l = nullptr, *r = nullptr;  ///< sum: [targets,H], [sources,H]
  float slope = 0;
  Tensor terms = {};  ///< backward: as tile_attention_terms() leaves them
};

/// What the tiles of a cut add to attention (kernels/attention/attention.h), head by head.
struct TileAttention {
  const AttentionOperands& operands;
  TilePass pass;
  const RowTiles& tiles;
  TileShares shares;  ///< a slab for each head
  Tensor& parts;      ///< float32 [windows + blocks, RowTiles::kRows, heads * pitch]
  Tensor& stats;      ///< float32 [windows + blocks, RowTiles::kRows, heads, 2]
};

/// parts[w] = what the tiles of window w come to, in float32, laid out as tile_product() has it (parts of
/// windows without tiles are not written):
///   forward          Σ_j 2^(e_ij - m_i) v_j, with stats m_i and Σ_j 2^(e_ij - m_i), e in powers of 2
///   values           Σ_i α_ij dO_i
///   target_gradient  scale Σ_j de_ij k_j
///   source_gradient  scale Σ_i de_ij q_i
/// and beside sums
///   target_gradient  nothing; in stats, first of each two, Σ_j de_ij
///   source_gradient  Σ_i α_ij dO_i, in stats Σ_i de_ij
/// Logits, α and de are computed in float32 from products of the operands, and rounded to operands for the
/// sums: α and 2^(e - m) keep 11 bits down to 2^-28 in float16, de down to 2^-29 of 2 D times the largest of
/// d_o and v. What is not finite reaches its neighbours and nothing else.
void tile_attention(const TileAttention& attention);

/// What the passes of the backward pass take of lse and Δ [targets,H] (float32): [targets,H,2], in units of
/// the operands. The attention's pass, tiles and outputs do not matter.
Tensor tile_attention_terms(const TileAttention& attention, const Tensor& lse, const Tensor& delta);

}  // namespace adj::kernels::cuda
