#pragma once

#include <adjoint/kernels/compute_context.h>
#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels {

/// Where cuts are looked for before they are made (ComputeContext::cuts): a file (data/stored_cuts.h). Any
/// thread may call it.
class CutStore {
 public:
  virtual ~CutStore() = default;
  /// The cut of `a` on its device, or null where it has none.
  virtual std::shared_ptr<RowTiles> find(const Csr& a, int64_t least) = 0;
  /// Is told of a cut that is kept with its structure from now on, found or made.
  virtual void keep(const Csr& a, const std::shared_ptr<const RowTiles>& cut) = 0;
};
/// The store's cut, else make_row_tiles().
std::shared_ptr<RowTiles> find_or_make(const Csr& a, int64_t least);

}  // namespace adj::kernels
