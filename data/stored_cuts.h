#pragma once

#include <adjoint/data/hdf5_file.h>
#include <adjoint/kernels/tiles/cut_store.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace adj {

/// Cuts of structures for tensor cores (RowTiles), kept in an HDF5 file of their own from one process to the
/// next:
///
///   const auto cuts = std::make_shared<StoredCuts>("cuts.h5");
///   compute_context().cuts = cuts;
///   …  // what is cut from here on is read from the file where it is there
///   cuts->write();  // what was made and kept besides
///
/// A cut is known by the contents of its structure and by `least`, as the group HASH-LEAST: the tensors of
/// RowTiles under their names, and the attributes rows, cols, entries and least. The root has format
/// "adjoint.cuts" and version.
///
/// A cut that is read is held against its structure entry by entry (check_row_tiles()), on the CPU. All
/// errors are DataErrors.
class StoredCuts : public kernels::CutStore {
 public:
  /// Over what `path` holds, where there is such a file.
  explicit StoredCuts(std::string path);

  /// Throws where the file has a cut for the structure and it is not the structure's.
  std::shared_ptr<RowTiles> find(const Csr& a, int64_t least) override;
  void keep(const Csr& a, const std::shared_ptr<const RowTiles>& cut) override;
  /// Writes the file anew with what it had and what was kept besides; without effect where that is nothing.
  /// Returns how many cuts were found in it or kept. Throws where it had some and none of them was found: it
  /// is of another graph.
  int64_t write() const;

 private:
  struct Made {
    int64_t entries;
    std::shared_ptr<const RowTiles> cut;
  };

  const std::string path_;
  std::optional<H5Reader> file_;
  mutable std::mutex mutex_;
  std::set<std::string> found_;
  std::map<std::string, Made> made_;
};

}  // namespace adj
