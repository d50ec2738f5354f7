#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/data/loader/subgraph_batch.h>
#include <adjoint/graph/sample/saint_sampler.h>

namespace adj {

/// Options of a SaintLoader.
struct SaintLoaderOptions {
  SaintSampling sampling = {};  ///< how the subgraphs are drawn
  /// The normalisation is estimated from subgraphs with `coverage` times the graph's nodes in total; 0: no
  /// normalisation, equal seed weights.
  int64_t coverage = 50;
  /// Matrix of the model's sums over neighbours, which subgraphs estimate without bias; mean in the paper.
  /// Only with a normalisation.
  PropagationMatrix matrix = PropagationMatrix::none;
  /// steps: subgraphs per epoch, by default until as many nodes are drawn as the graph has. seed: also of the
  /// normalisation. batch_size, shuffle and drop_last are not supported.
  LoaderOptions loading = {};
};

/// Mini-batches of sampled subgraphs, whose normalisation makes minibatch estimates unbiased (GraphSAINT,
/// Zeng et al. 2020):
///
///   SaintLoader loader(data, data.train, {.sampling = {.budget = 2000}, .matrix = PropagationMatrix::gcn});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const SubgraphBatch& batch : loader.epoch(epoch))
///       cross_entropy_sum(model(batch.graph, batch.x), batch.y, batch.seeds, batch.weight).backward(); …
///
/// **Loss.** batch.weight[k] = 1 / (p S), where p is the estimated probability of seed k and S the number of
/// all seeds: Σ_k weight[k] loss[k] is an unbiased estimate of the mean loss over all seeds, 0 for a subgraph
/// without seeds (1 / λ_v of section 3.2).
///
/// **Sums over neighbours.** The weights of batch.graph are those of `matrix` on the whole graph, with its
/// degrees, divided by α: ã_vu / α_uv, α_uv = C_uv / C_v the estimated probability of the edge given its
/// target (section 3.2). The graph is_normalized(): GCNConv and its variants, SAGEConv with sums or means,
/// GINConv and GraphConv use these weights unchanged. With gcn, self-loops are among the edges, with α = 1.
/// With none the graph keeps its own weights, and only the loss is normalised. PyG's graph_saint.py is matrix
/// = mean and GraphConv: edge_norm * edge_weight.
///
/// Sampling runs on the CPU, on a copy if the graph is on a GPU; features are gathered where they are stored.
class SaintLoader : public Loader<SubgraphBatch> {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, distinct. Draws the
  /// subgraphs of the normalisation. Throws otherwise, naming the place; if features or labels do not have N
  /// rows; for options out of range, or a matrix without normalisation; and what SaintSampler throws.
  SaintLoader(const Graph& graph, const FeatureInput& x, const Tensor& labels, const Tensor& seeds,
              SaintLoaderOptions options);
  /// The dataset's graph, features (in memory or in their file) and labels. Throws if it has no features.
  SaintLoader(const Dataset& data, const Tensor& seeds, SaintLoaderOptions options);

  /// On the CPU; with 0 samples if there is none.
  const SaintNormalization& normalization() const;

 private:
  struct Impl;
  explicit SaintLoader(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
