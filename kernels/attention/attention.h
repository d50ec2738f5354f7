#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/sparse/csr.h>
#include <adjoint/kernels/types/row_tiles.h>

namespace adj::kernels {

// Common contract of the attention kernels. Row i of `a` holds the edges into target i, column j their
// sources; `at` is the transposed structure. Edge quantities are indexed by edge number: entry k is edge
// order[k], or k. H heads of width D: features are matrices [N, H D], columns [h D, (h + 1) D) belong to head
// h. With
//
//   α_ij = exp(e_ij - lse_i),  lse_i = log Σ_j exp(e_ij)       (softmax over the edges into i, per head)
//   O_i  = Σ_j m_ij α_ij v_j                                   (m: attention dropout, 0 or scale)
//
// nothing of size M x H is saved: the backward pass needs `lse` [N, H] and O (while it runs, its target part
// may hand two numbers per edge and head to its source part), and computes
//
//   Δ_i  = ⟨dO_i, O_i⟩,  de_ij = α_ij (m_ij ⟨dO_i, v_j⟩ - Δ_i),  Σ_j de_ij = 0
//
// (design: FlashAttention 2's backward, Dao 2023, over the rows of a graph). Target gradients are reduced
// over the rows of `a`, source gradients over those of `at`: no atomics. Targets without edges give O = 0,
// lse = 0 and no gradient. O is stored with the layer's bias if there is one. The order of each sum depends
// only on the structure and the widths. Features, parameters and their gradients share one dtype, float32,
// float64 or bfloat16; lse, Δ, node and edge terms and their gradients have the accumulator dtype. Δ
// uses O as stored, less the bias: in bfloat16 a logit's gradient is off by up to 2^-9 α_ij Σ |dO_i O_i|,
// most noticeable for narrow heads. NaN propagates within its row and head; a row whose logits are all -inf
// gives NaN.

/// Attention dropout: edge e keeps head h if position e H + h of the sequence `key` is kept, scaled by
/// rule.scale (Veličković et al. 2018, 3.3). Threshold 0: no dropout.
struct AttentionDropout {
  RandomKey key;
  DropoutRule rule;

  bool drops() const { return rule.threshold != 0; }  ///< whether there is any
};

/// How the source part of the backward pass of GATv2 and dot attention gets the attention weights and logit
/// gradients on a GPU. `kept`: the target part stores them, 2 numbers per entry and head, for the duration of
/// the call; for all heads at once or a group at a time. `recomputed`: it recomputes them from the features.
/// `by_size`: kept if these numbers, for one group of heads at least, take at most half the bytes of the
/// features. The CPU chooses its own method.
enum class AttentionGradient : uint8_t { by_size, kept, recomputed };

namespace detail {

/// Head width when `heads` share `width` columns.
inline int64_t head_width(std::string_view op, std::string_view name, int64_t width, int64_t heads) {
  ADJ_CHECK(heads >= 1 && width >= 1 && width % heads == 0,
            "{}: {} columns of {} do not divide into {} heads", op, width, name, heads);
  return width / heads;
}

/// The structure of `args` and, in a backward pass, its transpose.
template <class Args>
void check_structure(std::string_view op, const Args& args, DType accumulator) {
  const CsrMatrix& a = args.a;
  check_matrix(op, {a.csr, {}, a.order}, accumulator);
  if constexpr (requires { args.at; }) {
    const CsrMatrix& transposed = args.at;
    check_matrix(op, {transposed.csr, {}, transposed.order}, accumulator);
    ADJ_CHECK(a.csr.rows == transposed.csr.cols && a.csr.cols == transposed.csr.rows &&
                  a.csr.entries() == transposed.csr.entries() && a.csr.device() == transposed.csr.device(),
              "{}: [{}, {}] of {} entries and [{}, {}] of {}, expected a structure and its transpose", op,
              a.csr.rows, a.csr.cols, a.csr.entries(), transposed.csr.rows, transposed.csr.cols,
              transposed.csr.entries());
  }
}

/// Bias added to O; not allowed for bfloat16, whose rounding would enter Δ (see above).
inline void check_bias(std::string_view op, const Tensor& bias, int64_t width, DType dtype, Device device) {
  if (bias) check_tensor(op, "bias", bias, {width}, dtype, device);
  ADJ_CHECK(!bias || dtype != DType::bf16, "{}: a bias of bfloat16, expected another op to add it", op);
}

/// The tiles of `args`, if there are any, are cut from its structures, and its arguments are supported with
/// tiles.
template <class Args>
void check_tiles(std::string_view op, const Args& args, DType dtype, float scale, bool featured) {
  const auto check_cut = [&](const RowTiles& tiles, const Csr& csr) {
    ADJ_CHECK(tiles.rows == csr.rows && tiles.cols == csr.cols && tiles.rest.entries() <= csr.entries() &&
                  tiles.device() == csr.device(),
              "{}: tiles of another structure: [{}, {}], expected [{}, {}]", op, tiles.rows, tiles.cols,
              csr.rows, csr.cols);
  };
  if constexpr (requires { args.tiles_at; })
    ADJ_CHECK((args.tiles == nullptr) == (args.tiles_at == nullptr), "{}: tiles and tiles_at come together",
              op);
  if (args.tiles == nullptr) return;
  check_cut(*args.tiles, args.a.csr);
  if constexpr (requires { args.tiles_at; }) check_cut(*args.tiles_at, args.at.csr);
  ADJ_CHECK(dtype == DType::f32 || dtype == DType::bf16,
            "{}: over tiles expected float32 or bfloat16, got {}", op, name_of(dtype));
  ADJ_CHECK(args.head_width() <= kWidestTileHead,
            "{}: over tiles expected heads of at most {} features, got {}", op, kWidestTileHead,
            args.head_width());
  ADJ_CHECK(scale > 0.0f, "{}: over tiles expected a positive scale, got {}", op, scale);
  ADJ_CHECK(!args.dropout.drops() && !featured,
            "{}: over tiles there is neither attention dropout nor edge features", op);
}

inline void check_attention_dropout(std::string_view op, const AttentionDropout& dropout) {
  ADJ_CHECK(dropout.rule.threshold < 65536u, "{}: dropout threshold {}, expected less than 65536", op,
            dropout.rule.threshold);
}

}  // namespace detail

}  // namespace adj::kernels
