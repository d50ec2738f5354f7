#include <adjoint/kernels/aggregate/cuda/item_layout.h>
#include <adjoint/kernels/aggregate/explain.h>

#include <bit>
#include <limits>

namespace adj::kernels::cuda {

namespace {

constexpr int64_t kFeaturesPerSlab = 32;                // lane work of a slab besides its features
constexpr int64_t kFewEntries = 4, kManyEntries = 256;  // per row

bool fits(const RowLayout& layout, const ItemPass& pass) {
  return pass.width % (layout.chunks > 1 ? layout.slab() : layout.vector) == 0 &&
         pass.alignment % (static_cast<size_t>(layout.vector) * size_of(pass.dtype)) == 0;
}

}  // namespace

size_t alignment_of(const Tensor& x, const Tensor& y) {
  const auto bits =
      reinterpret_cast<uintptr_t>(x.raw_data()) | reinterpret_cast<uintptr_t>(y.raw_data()) | 16u;
  return size_t{1} << std::countr_zero(bits);
}

LayoutChoice choose_layout(const ItemPass& pass, std::span<const RowLayout> layouts) {
  const Csr& csr = pass.csr;
  LayoutChoice choice{-1, csr.entries() >= kManyEntries * csr.rows ? 256 : 128};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < layouts.size(); ++i) {
    const RowLayout& layout = layouts[i];
    if (!fits(layout, pass)) continue;
    const int64_t slabs = (pass.width + layout.slab() - 1) / layout.slab();
    const int64_t work = layout.chunks == 1                       ? slabs * (layout.slab() + kFeaturesPerSlab)
                         : csr.entries() < kFewEntries * csr.rows ? 0
                                                                  : least;
    if (work >= least) continue;
    least = work;
    choice.index = static_cast<int>(i);
  }
  ADJ_CHECK(choice.index >= 0, "{}: no kernel for width {}", pass.op, pass.width);
  const RowLayout& chosen = layouts[static_cast<size_t>(choice.index)];
  explain_sparse(pass.op, csr, pass.width, 1, pass.dtype,
                 "{} lanes a row, {} x {} features each, blocks of {} threads", chosen.lanes, chosen.chunks,
                 chosen.vector, choice.threads);
  return choice;
}

}  // namespace adj::kernels::cuda
