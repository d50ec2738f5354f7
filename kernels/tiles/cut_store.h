#pragma once

#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels {

/// Persistent cache of cuts, consulted before making one (ComputeContext::cuts): a file
/// (data/stored_cuts.h). Thread-safe.
class CutStore {
 public:
  virtual ~CutStore() = default;
  /// The cut of `a` on its device, or null.
  virtual std::shared_ptr<RowTiles> find(const Csr& a, int64_t least) = 0;
  /// Called for every cut, found or made, that is now cached with its structure.
  virtual void keep(const Csr& a, const std::shared_ptr<const RowTiles>& cut) = 0;
};
/// The store's cut, else make_row_tiles().
std::shared_ptr<RowTiles> find_or_make(const Csr& a, int64_t least);

}  // namespace adj::kernels
