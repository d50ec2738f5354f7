#pragma once

#include <adjoint/core/tensor.h>
#include <adjoint/kernels/sparse/csr.h>

#include <span>

namespace adj::kernels {

/// How the lanes of a group share a row of features. Wide rows take several slabs, in parallel.
struct RowLayout {
  int vector;  ///< features per read of a lane
  int lanes;   ///< lanes per row
  int chunks;  ///< vectors per lane; several are for widths that are a multiple of the slab
  int unroll;  ///< entries in flight
  int slab() const { return vector * lanes * chunks; }  ///< features that a group reads together
};

/// A RowLayout as kernels take it: kVector, kLanes, kChunks and kUnroll, together kRow.
template <int kVectorOf, int kLanesOf, int kChunksOf = 1, int kUnrollOf = 4>
struct ItemLayout {
  static constexpr int kVector = kVectorOf, kLanes = kLanesOf, kChunks = kChunksOf, kUnroll = kUnrollOf;
  static constexpr RowLayout kRow{kVector, kLanes, kChunks, kUnroll};
};
/// The layouts with which a kernel is compiled.
template <class... Layouts>
struct ItemLayouts {};
/// For float64, which only gradient checks use: small code over speed.
using ScalarLayouts = ItemLayouts<ItemLayout<1, 32>>;

/// A pass over the items of a structure.
struct ItemPass {
  const char* op;    ///< for --explain
  const Csr& csr;    ///< the structure
  int64_t width;     ///< features per row
  DType dtype;       ///< of the features
  size_t alignment;  ///< of the first elements of all rows, in bytes
};

/// Largest power of two up to 16 that divides both base addresses and `offset`; the width is not considered.
size_t alignment_of(const Tensor& x, const Tensor& y, uint64_t offset = 0);

/// The layout for a pass, chosen by sizes only; all layouts sum in the same order, so it changes only the
/// time. The least lane work wins: slabs times their features, plus a constant per slab for columns and
/// weights, the first in the list if equal. Rows of few entries take several chunks, or else fewer entries in
/// flight.
///
/// Fitted to all layouts and block sizes, measured on an H200: six graphs of 2 to 467 edges per node, widths
/// of 16 to 512, float32 and bfloat16, 900 cases. Time against the fastest layout of each case: 1.025 on
/// average, 1.10 at the 90th percentile, 1.5 at most (gathered maxima of weighted bfloat16, width 32).
/// Measuring the layouts of each structure at run time was 1.6 % slower on average, with longer lists.
int choose_layout(const ItemPass& pass, std::span<const RowLayout> layouts);
/// True if rows are short on average.
bool has_few_entries(const Csr& csr);
/// Threads per block: more for long rows, whose warps then read the same rows of X from L1.
int item_threads(const Csr& csr);

/// run<Layout>() with the chosen layout.
template <class... L, class Run>
void with_layout(ItemLayouts<L...>, const ItemPass& pass, Run&& run) {
  constexpr RowLayout kRows[] = {L::kRow...};
  const int chosen = choose_layout(pass, kRows);
  int index = 0;
  ((index++ == chosen ? run.template operator()<L>() : void()), ...);
}

}  // namespace adj::kernels
