#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/prefetch.h>
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/graph/splits.h>

#include <memory>
#include <optional>
#include <vector>

namespace adj {

/// Some pairs of nodes to tell apart, what is sampled of their neighbourhood, and what is known of both.
struct LinkBatch {
  std::vector<Block> blocks;  ///< one a layer, in the order of layers; the last one's targets are `nodes`
  Features x;                 ///< of blocks.front().src_nodes()
  Tensor nodes;               ///< int32 [S]: whom the pairs are of, each once, ascending
  EdgeIndex pairs;        ///< int32 [P] each: rows of what a model makes of `nodes`; the joined ones first
  Tensor label;           ///< float32 [P]: 1 for a pair that an edge joins, 0 for one that none does
  int64_t positives = 0;  ///< pairs of label 1

  int64_t size() const { return label.numel(); }
};

struct LinkLoaderOptions {
  NeighborSampling sampling = {};  ///< fan-outs, one a layer, from the pairs' nodes outwards
  int64_t batch_size = 1024;       ///< of the pairs that are given
  int64_t negatives = 1;           ///< drawn for each of them, where none are given
  /// The batch's joined pairs, and their reverses, are no edges of its blocks: what is to be found is not
  /// told. They are taken out of what was sampled, so that a node may keep fewer edges than its fan-out.
  bool exclude = true;
  bool shuffle = false;    ///< pairs in another order in each epoch
  bool drop_last = false;  ///< without the last batch, where it is smaller
  uint64_t seed = 0;       ///< of order, negatives and samples
  /// Blocks come with what backward passes need of them beside (Relation::transposed): workers make it.
  bool backward = true;
  int workers = 0;                    ///< threads that prepare batches ahead; 0: whoever iterates does
  int64_t depth = 0;                  ///< batches that are prepared or wait, at most; 0: two a worker
  std::optional<Device> device = {};  ///< of the batches; absent: the graph's
};

/// Mini-batches of edges to find, with pairs that no edge joins beside them, and the sampled neighbourhoods
/// of both's nodes, for training and evaluation:
///
///   LinkLoader loader(split.train, x, linked_pairs(split.train), {.sampling = {.fanouts = {15, 10}},
///                                                                 .shuffle = true});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const LinkBatch& batch : loader.epoch(epoch)) …
///
/// A pair without an edge is drawn anew for each batch, each as likely as any other: never an edge of the
/// graph nor one of the given pairs, nor a node with itself; one may be drawn more than once. Every given
/// pair stands in one batch an epoch. Epoch e has the same batches to the bit, whatever the number of workers
/// and threads, the graph's device, and whichever epochs came before: its order depends on (seed, e), the
/// negatives and samples of batch i on (seed, e, i).
///
/// Where the graph is on a GPU, sampling runs there, on a stream of its own for each worker; pairs are drawn
/// on the host, which keeps 4 bytes an edge and 16 a node for it. A graph on the CPU can be sampled for a
/// GPU. A cheap handle; the epochs of one may be iterated at the same time.
class LinkLoader {
 public:
  /// `joined`: int32 or int64 [P], from src to dst, not necessarily edges of the graph; one that stands there
  /// twice counts twice. Throws where a pair is out of range or a node with itself, naming the place; where
  /// features are not those of the graph's nodes; where options are out of range; where drop_last would leave
  /// nothing; where every pair of nodes is an edge; and what NeighborSampler throws.
  LinkLoader(Graph graph, std::shared_ptr<const FeatureStore> x, const EdgeIndex& joined,
             LinkLoaderOptions options);
  LinkLoader(const Graph& graph, const Features& x, const EdgeIndex& joined, LinkLoaderOptions options);
  /// Likewise with the pairs that no edge joins given too, as for evaluation: none is drawn. In order the
  /// joined ones come first.
  LinkLoader(Graph graph, std::shared_ptr<const FeatureStore> x, const LinkExamples& pairs,
             LinkLoaderOptions options);
  LinkLoader(const Graph& graph, const Features& x, const LinkExamples& pairs, LinkLoaderOptions options);

  /// Batches an epoch.
  int64_t size() const;
  /// Pairs that were given.
  int64_t num_pairs() const;
  const LinkLoaderOptions& options() const;

  /// Epoch `e` >= 0, of which batches are prepared from now on.
  Prefetcher<LinkBatch> epoch(int64_t e) const;
  /// Batch `i` of epoch `e`, made by the caller.
  LinkBatch batch(int64_t e, int64_t i) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
