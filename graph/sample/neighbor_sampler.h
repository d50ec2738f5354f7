#pragma once

#include <adjoint/graph/block.h>
#include <adjoint/graph/graph.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace adj {

/// How the neighbourhoods of a batch are sampled.
struct NeighborSampling {
  /// Of each hop, from the seeds outwards: how many in-edges a node keeps. 1 or more, or -1 for all of them.
  std::vector<int64_t> fanouts;
  /// May an edge be taken more than once? Then a node with any in-edge keeps exactly its fan-out of them;
  /// else one with no more of them than that keeps them all. Parallel edges count each, either way.
  bool replace = false;
  /// In proportion to the graph's edge weights, one edge after the other; edges of weight 0 never, nor by a
  /// fan-out of -1.
  bool weighted = false;
  /// LABOR-0 (Balin & Çatalyürek, Layer-Neighbor Sampling, NeurIPS 2023): each source t draws one number r_t
  /// for all targets of a hop, and a target s of d in-edges takes t where r_t < c_s = k / d. It keeps min(k,
  /// d) edges in expectation, with the variance of k drawn apart, and targets with common neighbours take the
  /// same ones: a batch reads fewer nodes. All edges of a target are as likely, so that the mean over those
  /// taken estimates the mean over all. Neither with replace nor with weighted.
  bool labor = false;
};

/// Samples k-hop neighbourhoods (GraphSAGE, Hamilton et al. 2017), on the graph's device. A sampler is a
/// cheap handle, and may be used by several threads at once.
///
/// What is drawn for a node depends on the seed, the hop, the node's id and its in-edges alone: not on the
/// device (to the bit), the number of threads, nor on what else is in the batch.
class NeighborSampler {
 public:
  /// Throws where there is no fan-out, one is neither -1 nor 1 or more, options exclude each other, or, of
  /// weighted sampling, the graph has no weights, or one that is negative or not finite (naming its edge).
  /// Weighted sampling keeps 12 bytes an edge and 4 a node besides.
  NeighborSampler(Graph graph, NeighborSampling options);

  /// The batch of `seeds`, int32 or int64 [B], in any order, none twice: for each layer the block that it
  /// computes over, as layers take them: the first reads the outermost nodes, the last computes the seeds.
  /// The targets of each are the sources of the next, in the same order, beginning with the seeds; further
  /// sources stand in the order in which edges first name them. Edges go by target; csr() needs no sorting,
  /// but the sources of a row do not ascend. edge_ids(): int32, edge numbers of the graph.
  ///
  /// `seed` names the batch: another one gives other samples. On a GPU the host waits twice for the seeds and
  /// twice a hop, to learn sizes. Each thread that samples keeps 4 bytes for each node of the graph. Throws
  /// Error where a seed is no node or stands twice, naming its place.
  std::vector<Block> sample(const Tensor& seeds, uint64_t seed) const;

  const Graph& graph() const;
  const NeighborSampling& options() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
