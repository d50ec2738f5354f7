#include <adjoint/kernels/plan/explain.h>
#include <adjoint/kernels/plan/item_layout.h>

#include <bit>

namespace adj::kernels {

namespace {

constexpr int64_t kFeaturesPerSlab = 32;                // lane work of a slab besides its features
constexpr int64_t kFewEntries = 4, kManyEntries = 256;  // per row

bool fits(const RowLayout& layout, const ItemPass& pass) {
  return pass.width % (layout.chunks > 1 ? layout.slab() : layout.vector) == 0 &&
         pass.alignment % (static_cast<size_t>(layout.vector) * size_of(pass.dtype)) == 0;
}

}  // namespace

size_t alignment_of(const Tensor& x, const Tensor& y, uint64_t offset) {
  const auto bits =
      reinterpret_cast<uintptr_t>(x.raw_data()) | reinterpret_cast<uintptr_t>(y.raw_data()) | offset | 16u;
  return size_t{1} << std::countr_zero(bits);
}

bool has_few_entries(const Csr& csr) { return csr.entries() < kFewEntries * csr.rows; }

int item_threads(const Csr& csr) { return csr.entries() >= kManyEntries * csr.rows ? 256 : 128; }

int choose_layout(const ItemPass& pass, std::span<const RowLayout> layouts) {
  const Csr& csr = pass.csr;
  const bool few = has_few_entries(csr);
  const RowLayout* chosen = nullptr;
  int64_t least = 0;
  for (const RowLayout& layout : layouts) {
    if (!fits(layout, pass) || (layout.chunks > 1 && !few)) continue;
    const int64_t slabs = (pass.width + layout.slab() - 1) / layout.slab();
    const int64_t work = layout.chunks > 1 ? 0 : slabs * (layout.slab() + kFeaturesPerSlab);
    const bool better =
        chosen == nullptr || work < least || (work == least && few && layout.unroll < chosen->unroll);
    if (!better) continue;
    chosen = &layout;
    least = work;
  }
  ADJ_CHECK(chosen != nullptr, "{}: no kernel for width {}", pass.op, pass.width);
  explain_sparse(pass.op, csr, pass.width, 1, pass.dtype,
                 "{} lanes per row, {} x {} features each, blocks of {} threads (by rule)", chosen->lanes,
                 chosen->chunks, chosen->vector, item_threads(csr));
  return static_cast<int>(chosen - layouts.data());
}

}  // namespace adj::kernels
