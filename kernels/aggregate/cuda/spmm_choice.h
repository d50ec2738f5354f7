#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <functional>
#include <span>

namespace adj::kernels::cuda {

/// Layout of a row's features over lanes in spmm_kernel.
struct SpmmShape {
  int vector = 1;       ///< features per read of a lane
  int lanes = 32;       ///< lanes per row
  int chunks = 1;       ///< vectors per lane
  int max_threads = 0;  ///< per block
  bool whole = false;   ///< only for widths that are a multiple of the slab
  int slab() const { return vector * lanes * chunks; }
};

struct SpmmProblem {
  const Csr* csr;
  int64_t width;
  size_t element_bytes;
  size_t alignment;      ///< of the first elements of all rows, in bytes
  int family = 0;        ///< of shapes; chosen separately for each family
  bool measures = true;  ///< whether the product may be computed more than once
};

/// Families of kernels over the items of a structure.
enum ItemKernels : int {
  kSpmmItems,
  kLargestItems,
  kSmallestItems,
  kMomentItems,
  kEveryItems,
  kWinnerItems,
  kLargestWeightedItems,
  kSmallestWeightedItems,
  kWeightedWinnerItems
};

struct SpmmChoice {
  int variant = 0;
  int threads = 256;
};

/// Largest power of two up to 16 that divides both base addresses; the width is not considered.
size_t alignment_of(const Tensor& x, const Tensor& y);

/// The shape for this structure and width. The first call follows a rule on sizes; from the second call on,
/// if the product is large, the fastest suitable shape, measured once and remembered. Every shape sums in the
/// same order, so only the time depends on the choice. Nothing is measured during a capture. `run` computes
/// the product with one shape.
SpmmChoice choose_spmm(const SpmmProblem& problem, std::span<const SpmmShape> shapes,
                       const std::function<void(int variant, int threads)>& run);

}  // namespace adj::kernels::cuda
