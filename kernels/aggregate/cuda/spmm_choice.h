#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <span>

namespace adj::kernels::cuda {

/// How a kernel over the items of a structure lays a row's features over lanes.
struct SpmmShape {
  int vector = 1;      ///< features that a lane reads at once
  int lanes = 32;      ///< lanes that share a row
  int chunks = 1;      ///< vectors of each lane
  bool whole = false;  ///< only for widths that are a multiple of the slab
  int slab() const { return vector * lanes * chunks; }
};

struct SpmmProblem {
  std::string_view op;
  const Csr& csr;
  int64_t width;
  size_t element_bytes;
  size_t alignment;  ///< that all rows' first elements have, in bytes
};

/// Threads of a block that goes over items.
inline constexpr int kItemThreads = 256;

/// Largest power of two up to 16 that divides both base addresses; the width is not considered.
size_t alignment_of(const Tensor& x, const Tensor& y);

/// Which shape for this structure and width, by a rule on sizes. Every shape sums in the same order, so that
/// nothing but time depends on it.
size_t choose_shape(const SpmmProblem& problem, std::span<const SpmmShape> shapes);

/// Likewise of kernels that have a shape each.
template <class Variant, size_t N>
const Variant& choose_variant(const SpmmProblem& problem, const Variant (&variants)[N]) {
  SpmmShape shapes[N];
  for (size_t i = 0; i < N; ++i) shapes[i] = variants[i].shape;
  return variants[choose_shape(problem, shapes)];
}

}  // namespace adj::kernels::cuda
