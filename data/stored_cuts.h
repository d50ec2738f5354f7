#pragma once

#include <adjoint/data/hdf5_file.h>
#include <adjoint/graph/graph.h>
#include <adjoint/kernels/tiles/cut_store.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace adj {

/// Persistent cache of tensor core cuts (RowTiles) in an HDF5 file:
///
///   const auto cuts = std::make_shared<StoredCuts>("cuts.h5");
///   compute_context().cuts = cuts;
///   …  // cuts made from here on are read from the file if stored there
///   cuts->write();  // adds the new ones
///
/// A cut is identified by its structure's contents and `least`, as the group HASH-LEAST: the tensors of
/// RowTiles under their names, and the attributes rows, cols, entries and least. The root has format
/// "adjoint.cuts", version, and after expect() the graph's hash.
///
/// A cut that is read is validated entry by entry against its structure (check_row_tiles()), on the CPU. All
/// errors are DataErrors.
class StoredCuts : public kernels::CutStore {
 public:
  /// Loads the contents of `path` if the file exists.
  explicit StoredCuts(std::string path);

  /// Throws if the file's cuts are known to be of another graph; write() records this one. For before a
  /// training.
  void expect(const Graph& graph);
  /// Throws if the file has a cut for the structure that does not match it.
  std::shared_ptr<RowTiles> find(const Csr& a, int64_t least) override;
  void keep(const Csr& a, const std::shared_ptr<const RowTiles>& cut) override;
  /// Rewrites the file with its old and new cuts; no effect without new ones. Returns the number of cuts
  /// found or kept. Throws if it had cuts, but of no structure found or kept here, and not of the expected
  /// graph: it belongs to another one.
  int64_t write() const;

 private:
  struct Made {
    int64_t entries;                      ///< of the structure
    std::shared_ptr<const RowTiles> cut;  ///< as it was kept
  };

  const std::string path_;
  std::optional<H5Reader> file_;
  std::string graph_;  // hash, after expect()
  mutable std::mutex mutex_;
  std::set<std::string> found_;
  std::map<std::string, Made> new_cuts_;
};

}  // namespace adj
