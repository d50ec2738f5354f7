#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/joint_graph.h>
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/graph/splits.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj {

/// Positive and negative node pairs, and the sampled neighbourhood of their nodes.
struct LinkBatch {
  std::vector<Block> blocks;  ///< one per layer, in order; the last one's targets are `nodes`
  Features x;                 ///< of blocks.front().src_nodes()
  Tensor nodes;               ///< int32 [S]: nodes of the pairs, distinct, ascending
  EdgeIndex pairs;            ///< int32 [P] each: rows of the model output for `nodes`; positives first
  Tensor label;               ///< float32 [P]: 1 for positives, 0 for negatives
  int64_t positives = 0;      ///< number of positives
  Tensor positions;           ///< int32 [positives]: which of the given positive pairs these are

  int64_t size() const { return label.numel(); }  ///< P, number of pairs
  /// With derived structures; one transfer from the CPU to a GPU, except for the features.
  LinkBatch to(Device device) const;
};

/// Options of a LinkLoader.
struct LinkLoaderOptions {
  NeighborSampling sampling = {};  ///< fan-outs, one per layer, from the pairs' nodes outwards
  int64_t negatives = 1;           ///< drawn per positive pair, if no negatives are given
  /// Removes the batch's positive pairs and their reverses from the blocks (no label leakage), after
  /// sampling: a node may keep fewer edges than its fan-out.
  bool exclude = true;
  /// Negatives are no edges or given pairs in either direction: for scores that do not depend on it.
  bool undirected = false;
  /// Of a joint graph (join()): negatives are drawn between the types of one relation, without an edge of it,
  /// and only its edges and its reverse's are removed. Within one type it is undirected.
  std::optional<JointPairs> relation = {};
  LoaderOptions loading = {};  ///< batch_size: given pairs, 1024 by default
};

/// Mini-batches of positive and negative node pairs with the sampled neighbourhoods of their nodes, for
/// training and evaluation of link prediction:
///
///   LinkLoader loader(split.train, x, linked_pairs(split.train),
///                     {.sampling = {.fanouts = {15, 10}}, .loading = {.shuffle = true}});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const LinkBatch& batch : loader.epoch(epoch)) …
///
/// Negatives are drawn for each batch, uniformly and with replacement, from the pairs of different nodes that
/// are neither edges nor given pairs. Batches do not depend on the graph's device.
///
/// If the graph is on a GPU, sampling runs there, on each worker's stream. Negatives are drawn on the host,
/// with 4 bytes per edge and 16 per node. A graph on the CPU can be sampled for a GPU.
class LinkLoader : public Loader<LinkBatch> {
 public:
  /// `positive`: int32 or int64 [P], from src to dst, not necessarily edges of the graph; a repeated pair
  /// counts repeatedly. Throws for a pair out of range, or of equal nodes unless these are plain pairs,
  /// without negatives and exclusion, naming the place; if features are not [N, *]; for options out of range;
  /// if drop_last leaves no batch; if every pair of nodes is an edge; and what NeighborSampler throws.
  LinkLoader(Graph graph, const FeatureInput& x, const EdgeIndex& positive, const LinkLoaderOptions& options);
  /// With given negatives, as for evaluation: none are drawn. Positives come first in order.
  LinkLoader(Graph graph, const FeatureInput& x, const LinkExamples& pairs, const LinkLoaderOptions& options);

  /// Number of given pairs.
  int64_t num_pairs() const { return num_items(); }
};

}  // namespace adj
