#pragma once

#include <adjoint/kernels/types/csr.h>

// Which kernels compute Y = A X over rows of CSR on a GPU: rules on sizes only, and those of the whole
// structure, since the method decides the bits.
namespace adj::kernels::plan {

/// The kernels for a product.
enum class SpmmMethod : uint8_t {
  heads,  ///< weights per head: all heads in one pass
  small,  ///< limited by latency instead of bandwidth: a warp per row, one launch, no spmm_plan
  items   ///< equal shares of the entries (aggregate/spmm_plan.h)
};

/// Limits of a small product: entries and rows; features, in groups of lanes that read a pack each.
inline constexpr int64_t kMostSmallEntries = int64_t{1} << 17;
/// Lanes of a group, which takes a pack each.
inline constexpr int kSmallLanes = 4, kMostSmallSlabs = 4;  ///< groups of a row of x, at most
/// Features in a pack: one read of a lane.
inline int small_pack(int64_t width) { return width % 4 == 0 ? 4 : 1; }

/// heads for weights [entries, H] with H > 1, small for float32 within the limits above, else items.
inline SpmmMethod spmm_method(const CsrMatrix& a, int64_t width, DType features) {
  if (heads_of(a.values) > 1) return SpmmMethod::heads;
  const CsrSizes whole = a.csr.whole_sizes();
  const bool small = features == DType::f32 && whole.entries <= kMostSmallEntries &&
                     whole.rows <= kMostSmallEntries && width >= 1 &&
                     width <= kSmallLanes * kMostSmallSlabs * small_pack(width);
  return small ? SpmmMethod::small : SpmmMethod::items;
}

}  // namespace adj::kernels::plan
