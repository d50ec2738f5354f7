#pragma once

#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/prefetch.h>
#include <adjoint/graph/graph.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace adj {

/// Some nodes of a graph, the edges among them, and what is known of both: what a model of a whole graph
/// takes as it is, `loss = cross_entropy(model(batch.graph, batch.x), batch.y, batch.seeds)`.
struct SubgraphBatch {
  Graph graph;    ///< of K nodes; edges with their weights and attributes
  Tensor nodes;   ///< int32 [K], ascending: their numbers in the whole
  Features x;     ///< [K, F]
  Tensor y;       ///< [K] or [K,T]; absent where the loader was given no labels
  Tensor seeds;   ///< int32 [S], ascending: the places in the batch of the nodes to train on; S may be 0
  Tensor weight;  ///< float32 [S], of what each of these counts in the loss; absent: all the same

  int64_t size() const { return nodes.numel(); }
};

/// Who makes batches ahead of their use, where they go, and what comes with them.
struct SubgraphLoading {
  int workers = 0;                    ///< threads that prepare batches ahead; 0: whoever iterates does
  int64_t depth = 0;                  ///< batches that are prepared or wait, at most; 0: two a worker
  std::optional<Device> device = {};  ///< of the batches; absent: the graph's
  /// What workers ask of each batch's graph, so that the step finds it made: what its layers ask for, as
  /// `[](const Graph& graph) { (void)graph.gcn_adjacency(); }`. They ask on the CPU, and what the graph made
  /// goes to the device with it (Graph::carried_to). Absent: Graph::out_edges().
  std::function<void(const Graph&)> derive = {};
};

namespace detail {

/// Makes the batches of a loader, whose name errors begin with. Several threads may make batches at once.
class SubgraphBatches {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice. `counts`:
  /// float32 [N] on the CPU, the weights of seeds by node, optional. Throws otherwise, naming the place.
  SubgraphBatches(std::string loader, const Graph& graph, std::shared_ptr<const FeatureStore> x,
                  const Tensor& labels, const Tensor& seeds, SubgraphLoading loading,
                  const Tensor& counts = {});

  /// The graph that parts are taken of, on the CPU.
  const Graph& graph() const { return graph_; }
  int64_t num_seeds() const { return num_seeds_; }
  /// Of `nodes`, int32 [K] on the CPU, in any order, of `whole`, which has the same nodes.
  SubgraphBatch make(const Graph& whole, const Tensor& nodes) const;
  Prefetcher<SubgraphBatch> prefetch(int64_t count, std::function<SubgraphBatch(int64_t)> make) const;

 private:
  std::string loader_;
  Graph graph_;
  std::shared_ptr<const FeatureStore> x_;
  Tensor labels_, counts_;
  std::vector<bool> is_seed_;  // by node
  int64_t num_seeds_ = 0;
  Device device_;
  SubgraphLoading loading_;
  std::vector<Stream> streams_;
};

}  // namespace detail

}  // namespace adj
