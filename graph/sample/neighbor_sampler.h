#pragma once

#include <adjoint/graph/block.h>
#include <adjoint/graph/graph.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace adj {

/// Sampling of neighbourhoods.
struct NeighborSampling {
  /// In-edges sampled per node in each hop, from the seeds outwards: 1 or more, or -1 for all.
  std::vector<int64_t> fanouts;
  /// With replacement: a node with any in-edge gets exactly the fan-out. Without: a node with at most that
  /// many in-edges keeps all. Parallel edges count separately.
  bool replace = false;
  /// In proportion to the graph's edge weights, sequentially; never edges of weight 0, even with a fan-out of
  /// -1.
  bool weighted = false;
  /// LABOR-0 (Balin & Çatalyürek, Layer-Neighbor Sampling, NeurIPS 2023): each source t draws one number r_t
  /// for all targets of a hop, and a target s of d in-edges takes t if r_t < c_s = k / d. It keeps min(k, d)
  /// edges in expectation, with the variance of independent sampling, and targets share sampled neighbours,
  /// so a batch reads fewer nodes. All edges of a target are equally likely, so the mean over the sample is
  /// an estimate of the mean over all. Excludes replace and weighted.
  bool labor = false;
  /// The fan-outs are of each relation of a node's in-edges, by the graph's edge attribute "type", not of all
  /// together: a node with few edges of a relation keeps these. Edges are then sorted by target and relation.
  bool per_relation = false;
  /// Blocks have the weights of their edges: those that only draw need not be copied.
  bool keeps_weights = true;
};

/// Samples k-hop neighbourhoods (GraphSAGE, Hamilton et al. 2017), on the graph's device. A cheap,
/// thread-safe handle.
///
/// The sample of a node depends only on the seed, the hop, the node's id and its in-edges: bit-identical for
/// any device, number of threads and rest of the batch.
class NeighborSampler {
 public:
  /// Throws without fan-outs, for one that is neither -1 nor 1 or more, for options that exclude each other,
  /// per relation without "type", and for weighted sampling without weights, or with one that is negative or
  /// not finite (naming its edge). Weighted sampling takes 12 bytes per edge and 4 per node; per relation 8
  /// more per edge, and 12 per relation of a node, sorted once.
  NeighborSampler(Graph graph, NeighborSampling options);

  /// The batch of `seeds`, int32 or int64 [B], in any order, distinct: a block per layer, in the order of
  /// layers: the first reads the outermost nodes, the last computes the seeds. The targets of each are the
  /// sources of the next, in the same order, beginning with the seeds; further sources are in order of first
  /// appearance in an edge. Edges are sorted by target; the sources of a row do not ascend. edge_ids():
  /// int32, edge numbers of the graph.
  ///
  /// `seed`: another one gives other samples. On a GPU the host waits twice for the seeds and twice per hop,
  /// for sizes. Each sampling thread takes 4 bytes per node of the graph. Throws Error for a seed out of
  /// range or repeated, naming its place.
  std::vector<Block> sample(const Tensor& seeds, uint64_t seed) const;

  const Graph& graph() const;
  const NeighborSampling& options() const;  ///< as passed to the constructor

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
