#pragma once

#include <adjoint/kernels/tiles/cuda/operands.h>

namespace adj::kernels::cuda {

/// Passes of attention over tiles. `forward` and `target_gradient` use a cut of the structure, with targets
/// as rows, `values` and `source_gradient` one of the transposed structure.
enum class TilePass : uint8_t { forward, values, target_gradient, source_gradient };

/// Logits: `dot`, scale ⟨q_i, k_j⟩; `sum`, leaky_relu(l_i + r_j).
enum class TileScore : uint8_t { dot, sum };

/// Operands common to the passes of one attention, over tiles and over the cut's rest. Heads have v.pitch
/// features, at most kWidestTileHead.
struct AttentionOperands {
  TileScore score;
  int64_t heads;
  float scale = 0;                         ///< score dot
  OperandFeatures q = {}, k = {};          ///< score dot: [targets H, D], [sources H, D]
  OperandFeatures v = {}, d_o = {};        ///< d_o: backward
  const float *l = nullptr, *r = nullptr;  ///< score sum: [targets,H], [sources,H]
  float slope = 0;
  Tensor terms = {};  ///< backward: from tile_attention_terms()
};

/// Contribution of a cut's tiles to attention (kernels/attention/attention.h), per head.
struct TileAttention {
  const AttentionOperands& operands;
  TilePass pass;
  const RowTiles& tiles;
  TileShares shares;  ///< one slab per head
  Tensor& parts;      ///< float32 [windows + blocks, RowTiles::kRows, heads * pitch]
  Tensor& stats;      ///< float32 [windows + blocks, RowTiles::kRows, heads, 2]
};

/// parts[w] = result of the tiles of window w in float32, in the layout of tile_product() (parts of windows
/// without tiles are not written):
///   forward          Σ_j 2^(e_ij - m_i) v_j, with stats m_i and Σ_j 2^(e_ij - m_i), e in powers of 2
///   values           Σ_i α_ij dO_i
///   target_gradient  scale Σ_j de_ij k_j
///   source_gradient  scale Σ_i de_ij q_i
/// and for score `sum`
///   target_gradient  no parts; stats, first of each pair: Σ_j de_ij
///   source_gradient  Σ_i α_ij dO_i, stats Σ_i de_ij
/// Logits, α and de are computed in float32 from products of the operands, and rounded to operands for the
/// sums: α and 2^(e - m) keep 11 bits down to 2^-28 in float16, de down to 2^-29 of 2 D times the largest of
/// d_o and v. Non-finite values reach only their neighbors.
void tile_attention(const TileAttention& attention);

/// lse and Δ [targets,H] (float32) prepared for the backward passes: [targets,H,2], in operand units. The
/// pass, tiles and outputs of `attention` are not used.
Tensor tile_attention_terms(const TileAttention& attention, const Tensor& lse, const Tensor& delta);

}  // namespace adj::kernels::cuda
