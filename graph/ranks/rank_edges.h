#pragma once

#include <adjoint/graph/ranks/halo.h>

#include <optional>
#include <utility>
#include <vector>

namespace adj {

/// The edges of a rank's nodes: those whose sums it computes, and those that bring its gradients, with the
/// rows of other ranks that they name.
struct RankEdges {
  Halo sources;                 ///< of the in-edges: rows are targets
  std::optional<Halo> targets;  ///< of the out-edges: rows are sources; absent if they are not known
};

/// Where the rows of nodes are: each rank of the group has those that the cut gives it.
struct RankRows {
  Group group;
  RowCut cut;
  DType wire = DType::f32;                ///< in which float32 rows of a halo travel; or bfloat16 (Halo)
  int64_t least_part = Halo::kLeastPart;  ///< of a halo's rows, in bytes (Halo)
  /// Sums over rows, as gradients of weights are, go part by part of the cut, so that their bits do not
  /// depend on the number of ranks: of layers of several types (RowGroups::parts) and losses.
  bool by_parts = false;
  bool of_batches = false;  ///< rows are those of mini-batches, as many as each rank has; `cut` is not used

  int64_t begin() const { return cut.rows_of(group.rank(), group.size()).first; }  ///< first row of this rank
  int64_t end() const { return cut.rows_of(group.rank(), group.size()).second; }   ///< exclusive
  std::vector<int64_t> counts() const;                                             ///< rows of each rank
  /// [N, ...] from every rank's rows x; all ranks call it together.
  Tensor gather(const Tensor& x) const;
  /// First and last (exclusive) entry of this rank's rows of a structure over all nodes.
  std::pair<int64_t, int64_t> entries(const Csr& all) const;
  /// This rank's rows of a structure over all nodes on the host, on the group's device.
  Csr rows(const Csr& all) const;
  /// The values of these rows' entries; absent if `values`, in the order of the entries of `all`, are.
  Tensor values(const Csr& all, const Tensor& values) const;
};

}  // namespace adj
