#pragma once

#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/subgraph_batch.h>

#include <string>
#include <vector>

namespace adj::detail {

/// Extracts subgraph batches for a loader, whose name is the prefix of errors. Thread-safe.
class SubgraphBatches {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, distinct. `counts`:
  /// float32 [N] on the CPU, seed weights by node, optional. Throws otherwise, naming the place.
  SubgraphBatches(std::string loader, const Graph& graph, std::shared_ptr<const FeatureStore> x,
                  const Tensor& labels, const Tensor& seeds, LoaderOptions options,
                  const Tensor& counts = {});

  /// The whole graph, on the CPU.
  const Graph& graph() const { return graph_; }
  Device device() const { return device_; }
  /// The batch of `nodes`, int32 [K] on the CPU, in any order; its edges are those of `whole`.
  SubgraphBatch make(const Graph& whole, const Tensor& nodes) const;

 private:
  std::string loader_;
  Graph graph_;
  std::shared_ptr<const FeatureStore> x_;
  Tensor labels_, counts_;
  std::vector<bool> is_seed_;  // by node
  Device device_;
  LoaderOptions options_;
};

}  // namespace adj::detail
