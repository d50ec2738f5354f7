#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/graph/splits.h>

#include <memory>
#include <vector>

namespace adj {

/// Some pairs of nodes to tell apart, what is sampled of their neighbourhood, and what is known of both.
struct LinkBatch {
  std::vector<Block> blocks;  ///< one a layer, in the order of layers; the last one's targets are `nodes`
  Features x;                 ///< of blocks.front().src_nodes()
  Tensor nodes;               ///< int32 [S]: whom the pairs are of, each once, ascending
  EdgeIndex pairs;            ///< int32 [P] each: rows of the model output for `nodes`; positives first
  Tensor label;               ///< float32 [P]: 1 for a pair that an edge joins, 0 for one that none does
  int64_t positives = 0;      ///< pairs of label 1

  int64_t size() const { return label.numel(); }
  /// With what the blocks derived; from the CPU to a GPU as one copy, but for the features.
  LinkBatch to(Device device) const;
};

struct LinkLoaderOptions {
  NeighborSampling sampling = {};  ///< fan-outs, one a layer, from the pairs' nodes outwards
  int64_t negatives = 1;           ///< drawn for each pair that is given, where none are given
  /// The batch's positive pairs, and their reverses, are no edges of its blocks: what is to be found is not
  /// told. They are taken out of what was sampled, so that a node may keep fewer edges than its fan-out.
  bool exclude = true;
  LoaderOptions loading = {};  ///< batch_size: of the pairs that are given, 1024 by default
};

/// Mini-batches of edges to find, with pairs that no edge joins beside them, and the sampled neighbourhoods
/// of both's nodes, for training and evaluation:
///
///   LinkLoader loader(split.train, x, linked_pairs(split.train),
///                     {.sampling = {.fanouts = {15, 10}}, .loading = {.shuffle = true}});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const LinkBatch& batch : loader.epoch(epoch)) …
///
/// A pair without an edge is drawn anew for each batch, each as likely as any other: never an edge of the
/// graph nor one of the given pairs, nor a node with itself; one may be drawn more than once. Batches do not
/// depend on the graph's device either.
///
/// Where the graph is on a GPU, sampling runs there, on a stream of its own for each worker; pairs are drawn
/// on the host, which keeps 4 bytes an edge and 16 a node for it. A graph on the CPU can be sampled for a
/// GPU.
class LinkLoader : public Loader<LinkBatch> {
 public:
  /// `positive`: int32 or int64 [P], from src to dst, not necessarily edges of the graph; one that stands
  /// there twice counts twice. Throws where a pair is out of range or a node with itself, naming the place;
  /// where features are not those of the graph's nodes; where options are out of range; where drop_last would
  /// leave nothing; where every pair of nodes is an edge; and what NeighborSampler throws.
  LinkLoader(Graph graph, const FeatureSource& x, const EdgeIndex& positive,
             const LinkLoaderOptions& options);
  /// Likewise with the pairs that no edge joins given too, as for evaluation: none is drawn. In order the
  /// positive ones come first.
  LinkLoader(Graph graph, const FeatureSource& x, const LinkExamples& pairs,
             const LinkLoaderOptions& options);

  /// Pairs that were given.
  int64_t num_pairs() const { return num_items(); }
};

}  // namespace adj
