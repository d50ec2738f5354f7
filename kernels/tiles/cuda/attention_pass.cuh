#pragma once

// One pass of attention over tiles (tile_attention.sm_90a.cu): arguments, shared memory layout, the readers'
// copies, and entry weights.

#include <adjoint/kernels/cuda/logits.cuh>
#include <adjoint/kernels/tiles/cuda/pipeline.cuh>
#include <adjoint/kernels/tiles/cuda/tile_attention.h>

#include <algorithm>

namespace adj::kernels::cuda::attention_pass {

inline constexpr float kLeast = 1.175494351e-38f;  ///< normal number

struct Arguments {
  TileShares shares;
  const int32_t *windows, *window_of;
  const int32_t* columns;
  const uint64_t* bits;
  const uint16_t *own_first, *own_second;                // [rows, row_pitch]
  const uint16_t *first, *second;                        // [cols, row_pitch]
  const float *q_scale, *k_scale, *v_scale, *d_o_scale;  // multipliers of the operands; null: 1
  float scale;
  const float* row_logit;     // score sum: [rows,H], the row term of the logit
  const float* column_logit;  // [cols,H], the column term
  float slope;
  const float2* terms;  // [targets,H]: from find_terms()
  float *parts, *stats;
  int64_t num_windows;
  int rows, heads, pitch, row_pitch;
};

template <TilePass kPass>
struct Pass {
  static constexpr bool kForward = kPass == TilePass::forward;
  static constexpr bool kBySource = kPass == TilePass::values || kPass == TilePass::source_gradient;
  static constexpr bool kGradient = kPass == TilePass::target_gradient || kPass == TilePass::source_gradient;
};

/// Shared memory and threads for heads of kD features.
template <int kD, TileScore kScore, TilePass kPass>
struct Shape : Pass<kPass> {
  using P = Pass<kPass>;
  static constexpr bool kDot = kScore == TileScore::dot;
  static constexpr bool kSums = kDot || kPass != TilePass::target_gradient;  ///< weights times rows?
  static constexpr bool kSumsFirst = kDot && P::kGradient;                   ///< of the rows that S uses?
  static constexpr bool kRowSums = P::kForward || (!kDot && P::kGradient);   ///< of the weights?
  static constexpr int kReaders = 128, kThreads = kMultipliers + kReaders;
  // Warpgroups redistribute the registers of the launch, 168 per thread, in multiples of 8.
  static constexpr int kMultiplierRegisters = 200, kReaderRegisters = 104;
  static_assert(kMultipliers * kMultiplierRegisters + kReaders * kReaderRegisters == 168 * kThreads);

  static constexpr int kOwnPanel = kTileRows * kRowBytes, kOwnBytes = kD / 64 * kOwnPanel;
  static constexpr int kGatheredBytes = kD / 64 * kPanelBytes;
  /// Offsets in a stage: second matrix, bits, column terms (8 bytes each), column logits (4).
  static constexpr int kSecond = kDot ? kGatheredBytes : 0, kBits = kSecond + kGatheredBytes,
                       kTerms = kBits + kTileRows * 8, kLogits = kTerms + kTileColumns * 8;
  static constexpr int kStageBytes = kTerms + (P::kBySource || !kDot ? 1024 : 0);
  static_assert(kTileColumns * (8 + 4) <= 1024);
  static constexpr int kOwnSecond = kDot ? kOwnBytes : 0;  // after the first own matrix
  static constexpr int kOwnMatrices = (kDot ? 1 : 0) + (P::kGradient ? 1 : 0);
  static constexpr int kStages =
      std::min(6, (227 * 1024 - 2 * kPatternBytes - kOwnMatrices * kOwnBytes) / kStageBytes);
  static constexpr int kOwn = kStages * kStageBytes, kBarriers = kOwn + kOwnMatrices * kOwnBytes;
  /// A barrier per multiplier warpgroup, after the ring's.
  static constexpr int kOwnRowsRead = kBarriers + 16 * kStages;
  static constexpr int kSharedBytes = kBarriers + 2 * kPatternBytes;
  using Ring = StageRing<kStages, kReaders>;
};

template <class Operand>
constexpr bool kFloat16 = std::is_same_v<Operand, float16>;
/// Weights are scaled by this power of 2, so that small ones keep their bits.
template <class Operand>
constexpr float kRaised = kFloat16<Operand> ? 14.0f : 0.0f;

/// Packs two operands into a word.
template <class Operand>
__device__ __forceinline__ uint32_t pack_operands(float lower, float upper) {
  uint32_t word;
  if constexpr (kFloat16<Operand>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(upper), "f"(lower));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(upper), "f"(lower));
  return word;
}

__device__ __forceinline__ float scale_at(const float* scale) {
  return scale != nullptr ? __ldg(scale) : 1.0f;
}

/// Scale factors of a pass.
struct Factors {
  float logit;           ///< from a product of operands to a logit in powers of 2
  float product, delta;  ///< for G and Δ, so that (G - Δ) times a scaled α is rounded to operands
  float sum;             ///< of the final sums
};
template <class Operand>
__device__ Factors find_factors(const Arguments& a, TileScore score, TilePass pass) {
  const float q = scale_at(a.q_scale), k = scale_at(a.k_scale), v = scale_at(a.v_scale),
              d_o = scale_at(a.d_o_scale);
  const float lowered = power_of_2(-kRaised<Operand>);
  Factors f;
  if (score == TileScore::sum) {
    f.logit = kLog2E<float>;
    f.product = d_o * v;  // its result is not rounded
    f.delta = 1.0f;
    f.sum = pass == TilePass::forward ? v : d_o * lowered;
    return f;
  }
  f.logit = fmaxf(q * k * a.scale * kLog2E<float>, kLeast);  // times -inf it must not be 0
  // float16: operands are below 2^15, so |G - Δ| is below 2^31 D in operand units.
  f.product = kFloat16<Operand>
                  ? power_of_2(-16.0f - kRaised<Operand> - ceilf(log2f(static_cast<float>(a.pitch))))
                  : 1.0f;
  f.delta = fminf(f.product / d_o / v, -lowest<float>());  // nor infinite, times 0
  f.sum = pass == TilePass::forward ? v
          : pass == TilePass::values
              ? d_o * lowered
              : d_o / f.product * v * lowered * a.scale * (pass == TilePass::target_gradient ? k : q);
  return f;
}

/// terms [targets,H]: lse and Δ of the backward passes.
template <class Operand>
__global__ void __launch_bounds__(256)
    find_terms(const __grid_constant__ Arguments a, TileScore score, const float* lse, const float* delta,
               int64_t n, float2* terms) {
  begin_overlapping();
  const Factors f = find_factors<Operand>(a, score, TilePass::values);
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) terms[i] = {lse[i] * kLog2E<float> - kRaised<Operand>, delta[i] * f.delta};
}

/// A block's part of a window's tiles, and a head.
struct Part {
  int first, end;  ///< tiles
  int window, head;
  int64_t index;  ///< index in parts
};

template <int kD, TileScore kScore, TilePass kPass>
__device__ __forceinline__ void read_tiles(const Arguments& a, uint32_t shared) {
  using S = Shape<kD, kScore, kPass>;
  const int thread = static_cast<int>(threadIdx.x) - kMultipliers;
  RowCopies<kD, S::kReaders> rows[2] = {RowCopies<kD, S::kReaders>(thread),
                                        RowCopies<kD, S::kReaders>(thread)};
  int column[2] = {};
  const uint32_t pitch = keep(kAllLanes, static_cast<uint32_t>(a.row_pitch * 2));
  const bool valid = rows[0].feature() < a.pitch;
  typename S::Ring ring(shared + S::kBarriers);
  for_each_step(
      a.shares,
      [&](const TileSteps& step, auto i) {
        rows[i].find(a.columns, step.tile);
        if constexpr (S::kBySource || !S::kDot)
          column[i] = __ldg(a.columns + int64_t{step.tile} * kTileColumns + thread % kTileColumns);
      },
      [&](const TileSteps& step, auto i) {
        ring.wait_until_read();
        const uint32_t destination = shared + ring.stage() * S::kStageBytes;
        const int feature = step.slab * a.pitch;
        if constexpr (S::kDot) rows[i].begin(a.first + feature, pitch, valid, destination);
        rows[i].begin(a.second + feature, pitch, valid, destination + S::kSecond);
        copy_bits(a.bits, step.tile, thread, destination + S::kBits);
        const int64_t term = int64_t{column[i]} * a.heads + step.slab;
        if constexpr (S::kBySource) {
          if (thread < kTileColumns)
            copy_words_async<2>(destination + S::kTerms + thread * 8, a.terms + term);
        }
        if constexpr (!S::kDot) {
          if (thread >= kTileColumns)
            copy_words_async<1>(destination + S::kLogits + (thread - kTileColumns) * 4,
                                a.column_logit + term);
        }
        ring.written_by_copies();
        ring.advance();
      });
  wait_for_copies<0>();
}

/// Weights of an entry in the sums over rows and in the row's own sum.
struct Weight {
  float of_rows, of_row;
};

/// From a logit (of operand products, or of row and column terms) and G; `term` has the lse of the row or
/// column (in the forward pass the maximum logit) and Δ, scaled by Factors.
template <TileScore kScore, TilePass kPass>
__device__ __forceinline__ Weight weight_of(float logit, float product, const float2& term, float slope,
                                            const Factors& f) {
  constexpr bool kGradient = Pass<kPass>::kGradient;
  if constexpr (kScore == TileScore::dot) {
    const float alpha = power_of_2(fmaf(logit, f.logit, -term.x));
    const float weight = kGradient ? alpha * fmaf(product, f.product, -term.y) : alpha;
    return {weight, weight};
  } else {
    const float factor = leaky_slope(logit, slope);
    const float alpha = power_of_2(fmaf(factor * logit, f.logit, -term.x));
    return {alpha, kGradient ? alpha * factor * fmaf(product, f.product, -term.y) : alpha};
  }
}

}  // namespace adj::kernels::cuda::attention_pass
