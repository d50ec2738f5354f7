#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <functional>
#include <span>

namespace adj::kernels::cuda {

/// How spmm_kernel lays a row's features over lanes.
struct SpmmShape {
  int vector = 1;       ///< features that a lane reads at once
  int lanes = 32;       ///< lanes that share a row
  int chunks = 1;       ///< vectors of each lane
  int max_threads = 0;  ///< of a block
  bool whole = false;   ///< only for widths that are a multiple of the slab
  int slab() const { return vector * lanes * chunks; }
};

struct SpmmProblem {
  const Csr* csr;
  int64_t width;
  size_t element_bytes;
  size_t alignment;      ///< that all rows' first elements have, in bytes
  int family = 0;        ///< of shapes; each is chosen from on its own
  bool measures = true;  ///< may the product be computed more than once?
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

/// The shape for this structure and width. At first what a rule on sizes says; from the second call on, where
/// the product is large, the fastest of those that fit, measured once and remembered: every shape sums in the
/// same order, so that nothing but time depends on it. Nothing is measured during a capture. `run` computes
/// the product with one shape.
SpmmChoice choose_spmm(const SpmmProblem& problem, std::span<const SpmmShape> shapes,
                       const std::function<void(int variant, int threads)>& run);

}  // namespace adj::kernels::cuda
