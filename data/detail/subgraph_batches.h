#pragma once

#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/subgraph_batch.h>

#include <string>
#include <vector>

namespace adj::detail {

/// Cuts the batches of a loader, whose name errors begin with, out of a graph. Several threads may make
/// batches at once.
class SubgraphBatches {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice. `counts`:
  /// float32 [N] on the CPU, the weights of seeds by node, optional. Throws otherwise, naming the place.
  SubgraphBatches(std::string loader, const Graph& graph, std::shared_ptr<const FeatureStore> x,
                  const Tensor& labels, const Tensor& seeds, LoaderOptions options,
                  const Tensor& counts = {});

  /// The graph that parts are taken of, on the CPU.
  const Graph& graph() const { return graph_; }
  Device device() const { return device_; }
  int64_t num_seeds() const { return num_seeds_; }
  /// Of `nodes`, int32 [K] on the CPU, in any order, of `whole`, which has the same nodes.
  SubgraphBatch make(const Graph& whole, const Tensor& nodes) const;

 private:
  std::string loader_;
  Graph graph_;
  std::shared_ptr<const FeatureStore> x_;
  Tensor labels_, counts_;
  std::vector<bool> is_seed_;  // by node
  int64_t num_seeds_ = 0;
  Device device_;
  LoaderOptions options_;
};

}  // namespace adj::detail
