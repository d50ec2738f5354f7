#pragma once

#include <adjoint/kernels/cpu/simd.h>
#include <adjoint/kernels/sparse/spmm.h>

namespace adj::kernels::cpu {

/// True where weights come by head and vectors of features divide evenly into heads or heads into vectors.
/// Only with AVX-512 are lanes of a vector cheap to exchange.
template <class S>
bool heads_fill_vectors(int64_t heads, int64_t features) {
  constexpr int64_t kLane = simd::Accumulate<S>::kLanes;
  if (heads <= 1 || features == 0) return false;
  const int64_t width = features / heads;
  return width % kLane == 0 || (ADJ_AVX512 && kLane % width == 0);
}

// The SpMM family for such heads: all of a row's heads in one walk over its entries.
template <class S>
void spmm_by_head(const SpmmArgs& args);
template <class S>
void sddmm_by_head(const SddmmArgs& args);
template <class S>
void spmm_backward_by_head(const SpmmBackwardArgs& args);

}  // namespace adj::kernels::cpu
