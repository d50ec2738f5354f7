#pragma once

#include <adjoint/core/detail/carrier.h>
#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/data/loader/subgraph_batch.h>
#include <adjoint/graph/block.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Node (or graph) data of loaders, gathered for batches. Errors begin with the loader's name.

namespace adj::detail {

/// `items`, int32 or int64 [K], in [0, count), distinct, as int32 on `device`. Throws otherwise, naming the
/// place in `what`.
Tensor checked_items(std::string_view loader, std::string_view what, const Tensor& items, int64_t count,
                     Device device);
/// 0, …, count - 1: int32, on the CPU.
Tensor numbers(int64_t count);

/// The dataset's features, in memory or in their file, for batches on `device` (absent: the dataset's).
/// Throws if it has none.
std::shared_ptr<const FeatureStore> features_of(std::string_view loader, const Dataset& data,
                                                std::optional<Device> device);
/// Of a joint graph, by type: a store of the rows that are left in the file, else null.
std::vector<std::shared_ptr<const FeatureStore>> file_stores(const Dataset& data, Device device);
/// Throws unless these are features of `rows` nodes.
void check_features(std::string_view loader, const std::shared_ptr<const FeatureStore>& x, int64_t nodes);
/// x.gather() of the nodes `here`, or their copy `there` on `device` if it reads them there. Throws unless
/// the result, of possibly user-defined code, has one row per node, on `device`.
Features gather_features(std::string_view loader, const FeatureStore& x, const Tensor& home_nodes,
                         const Tensor& device_nodes, Device device);

/// Throws unless `labels` are absent, [rows] or [rows, T].
void check_labels(std::string_view loader, const Tensor& labels, int64_t rows);
/// Row k is row at[k] (int32) of the labels, on their device; absent without labels.
Tensor gather_labels(const Tensor& labels, const Tensor& index);

/// Throws if a graph on the GPU `home` is sampled for another device.
void check_sampled_for(std::string_view loader, Device home, Device device);
/// Builds the derived structures that the options request.
void derive(const LoaderOptions& options, const Graph& graph);
void derive(const LoaderOptions& options, const std::vector<Block>& blocks, size_t first_transposed = 0);
/// What a step would else wait for, on the batches' device: plans of the blocks' rows.
void plan_blocks(const LoaderOptions& options, const std::vector<Block>& blocks, size_t first_transposed = 0);
/// Likewise LoaderOptions::derive_block of each.
void derive_blocks(const LoaderOptions& options, const std::vector<Block>& blocks);

/// The batch on a device: these members by one transfer, with derived structures, and its features.
template <class Batch, class... Member>
Batch moved(const Batch& batch, Device device, Member Batch::*... members) {
  Batch copy = batch;
  Carrier carrier(device);
  const auto carry = [&]<class T>(T& part) {
    if constexpr (std::is_same_v<T, std::vector<Block>>)
      for (Block& block : part) block = carrier.carry(block);
    else if constexpr (std::is_same_v<T, EdgeIndex>)
      part = {carrier.carry(part.src), carrier.carry(part.dst)};
    else
      part = carrier.carry(part);
  };
  (carry(copy.*members), ...);
  carrier.finish();
  if (batch.x) copy.x = batch.x.to(device);
  return copy;
}

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
