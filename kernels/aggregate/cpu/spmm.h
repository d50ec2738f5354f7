#pragma once

#include <adjoint/kernels/aggregate/cpu/feature_blocks.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/cpu/row_chunks.h>

// What the walk of one weight to an entry (spmm.cpp) and that of all heads (spmm_heads.cpp) have in common.
namespace adj::kernels::cpu {

/// True where weights come by head and vectors of features divide evenly into heads or heads into vectors.
/// The latter only where lanes are cheap to exchange.
template <class S>
bool heads_fill_vectors(int64_t heads, int64_t features) {
  constexpr int64_t kLane = kLanes<S>;
  if (heads <= 1 || features == 0) return false;
  const int64_t width = features / heads;
  return width % kLane == 0 || (simd::kPermutes && kLane % width == 0);
}

// The SpMM family for such heads: all of a row's heads in one walk over its entries.
template <class S>
void spmm_by_head(const SpmmArgs& args);
template <class S>
void sddmm_by_head(const SddmmArgs& args);
template <class S>
void spmm_backward_by_head(const SpmmBackwardArgs& args);

/// What is done to a row's sum before it is stored. `bias` may be null.
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

/// Merges the partial sums of heavy rows, in the order of their entries, into rows of `pitch` elements.
template <class S>
void merge_heavy(const RowChunks& cuts, const Scalar<S>* partial, int64_t pitch, const S* bias, bool relu,
                 S* y) {
  const auto rows = static_cast<int64_t>(cuts.heavy.size());
  if (rows == 0) return;
  parallel_for(rows, row_grain(cuts.slots / rows * pitch), [&](int64_t from, int64_t to) {
    for (int64_t h = from; h < to; ++h) {
      const RowChunks::HeavyRow& heavy = cuts.heavy[static_cast<size_t>(h)];
      for_blocks<S>(pitch, [&]<int B>(int64_t first, int tail) {
        Vector<S> sum[B], part[B];
        load_block<Scalar<S>, B>(partial + heavy.slot_begin * pitch + first, tail, sum);
        for (int64_t slot = heavy.slot_begin + 1; slot < heavy.slot_end; ++slot) {
          load_block<Scalar<S>, B>(partial + slot * pitch + first, tail, part);
          for (int k = 0; k < B; ++k) sum[k] += part[k];
        }
        finish<S, B>(bias, relu, first, tail, sum);
        store_block<S, B>(y + heavy.row * pitch + first, tail, sum);
      });
    }
  });
}

}  // namespace adj::kernels::cpu
