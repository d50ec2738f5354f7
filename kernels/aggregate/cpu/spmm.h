#pragma once

#include <adjoint/kernels/aggregate/cpu/feature_blocks.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/cpu/row_chunks.h>

// Code shared by the walk with one weight per entry (spmm.cpp) and the walk over all heads (spmm_heads.cpp).
namespace adj::kernels::cpu {

/// True if weights are per head and either heads are a multiple of vectors or vectors a multiple of heads.
/// The latter only if lane permutation is cheap.
template <class S>
bool heads_fill_vectors(int64_t heads, int64_t features) {
  constexpr int64_t kLane = kLanes<S>;
  if (heads <= 1 || features == 0) return false;
  const int64_t width = features / heads;
  return width % kLane == 0 || (simd::kPermutes && kLane % width == 0);
}

// The SpMM family for such heads: one walk over the entries for all heads.
void spmm_by_head(const SpmmArgs& args);
void sddmm_by_head(const SddmmArgs& args);
void spmm_backward_by_head(const SpmmBackwardArgs& args);

/// A row's sum times its factor; `factor` may be null.
template <class S, int B>
[[gnu::always_inline]] inline void scale(const Scalar<S>* factor, int64_t row, Vector<S> (&sum)[B]) {
  if (factor == nullptr) return;
  for (int k = 0; k < B; ++k) sum[k] *= factor[row];
}

/// Epilogue of a row's sum before it is stored. `bias` may be null.
template <class S, int B>
[[gnu::always_inline]] inline void finish(const S* bias, bool relu, int64_t first, int tail,
                                          Vector<S> (&sum)[B]) {
  if (bias != nullptr) {
    Vector<S> added[B];
    load_block<S, B>(bias + first, tail, added);
    for (int k = 0; k < B; ++k) sum[k] += added[k];
  }
  if (relu)
    for (int k = 0; k < B; ++k) sum[k] = simd::relu(sum[k]);
}

/// Merges the partial sums [slots, pitch] of heavy rows, in entry order, into rows y_pitch elements apart.
template <class S>
void merge_heavy(const RowChunks& cuts, const Scalar<S>* partial, int64_t pitch, const S* bias, bool relu,
                 S* y, int64_t y_pitch, const Scalar<S>* factor = nullptr) {
  cuts.for_heavy(pitch, [&](const RowChunks::HeavyRow& heavy) {
    for_blocks<S>(pitch, [&]<int B>(int64_t first, int tail) {
      Vector<S> sum[B], part[B];
      load_block<Scalar<S>, B>(partial + heavy.slot_begin * pitch + first, tail, sum);
      for (int64_t slot = heavy.slot_begin + 1; slot < heavy.slot_end; ++slot) {
        load_block<Scalar<S>, B>(partial + slot * pitch + first, tail, part);
        for (int k = 0; k < B; ++k) sum[k] += part[k];
      }
      scale<S, B>(factor, heavy.row, sum);
      finish<S, B>(bias, relu, first, tail, sum);
      store_block<S, B>(y + heavy.row * y_pitch + first, tail, sum);
    });
  });
}

}  // namespace adj::kernels::cpu
