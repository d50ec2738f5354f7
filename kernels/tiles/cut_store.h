#pragma once

#include <adjoint/kernels/tiles/row_tiles.h>

namespace adj::kernels {

/// Where the cuts of a process are looked for before they are made: a file (data/stored_cuts.h). Any thread
/// may call it.
class CutStore {
 public:
  virtual ~CutStore() = default;
  /// The cut of `a` on its device, or null where it has none.
  virtual std::shared_ptr<RowTiles> find(const Csr& a, int64_t least) = 0;
  /// Is told of a cut that is kept with its structure from now on, found or made.
  virtual void keep(const Csr& a, const std::shared_ptr<const RowTiles>& cut) = 0;
};
/// For the whole process, from the next cut on; null: none, as at first.
void set_cut_store(std::shared_ptr<CutStore> store);
std::shared_ptr<CutStore> cut_store();
/// The store's cut, else make_row_tiles().
std::shared_ptr<RowTiles> find_or_make(const Csr& a, int64_t least);

}  // namespace adj::kernels
