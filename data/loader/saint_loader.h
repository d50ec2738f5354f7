#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/data/loader/subgraph_batch.h>
#include <adjoint/graph/sample/saint_sampler.h>

namespace adj {

/// The matrix by which the layers of a model sum over neighbours on the whole graph, of which subgraphs are
/// to give unbiased sums.
enum class SaintMatrix : uint8_t {
  none,  ///< none: layers that weigh neighbours by themselves (attention), or take the largest
  sum,   ///< A: Graph::adjacency()
  mean,  ///< D^-1 A: Graph::mean_adjacency(), what the paper trains with
  gcn    ///< D^-1/2 (A + I) D^-1/2: Graph::gcn_adjacency()
};

struct SaintLoaderOptions {
  SaintSampling sampling = {};
  /// The normalisation is counted over subgraphs that hold so many times the graph's nodes together; 0: there
  /// is none, and seeds count alike.
  int64_t coverage = 50;
  SaintMatrix matrix = SaintMatrix::none;  ///< only with a normalisation
  /// steps: subgraphs an epoch, by default as many as draw as many nodes as there are. seed: of the
  /// normalisation, too. Neither batch_size nor shuffle nor drop_last.
  LoaderOptions loading = {};
};

/// Mini-batches of sampled subgraphs, whose normalisation makes minibatch estimates unbiased (GraphSAINT,
/// Zeng et al. 2020):
///
///   SaintLoader loader(data, data.train, {.sampling = {.budget = 2000}, .matrix = SaintMatrix::gcn});
///   for (int64_t epoch = 0; epoch < 20; ++epoch)
///     for (const SubgraphBatch& batch : loader.epoch(epoch))
///       cross_entropy_sum(model(batch.graph, batch.x), batch.y, batch.seeds, batch.weight).backward(); …
///
/// **Loss.** batch.weight[k] = 1 / (p S), where p is the estimated probability of seed k and S the number of
/// all seeds: Σ_k weight[k] loss[k] is an unbiased estimate of the mean loss over all seeds, 0 where the
/// subgraph has none of them (1 / λ_v of section 3.2).
///
/// **Sums over neighbours.** The weights of batch.graph are those of `matrix` on the whole graph, its degrees
/// and not the subgraph's, divided by α: ã_vu / α_uv, α_uv = C_uv / C_v the estimated probability of the edge
/// given its target (section 3.2). The graph is_normalized(): GCNConv and its kin, SAGEConv with
/// sums or means, GINConv and GraphConv sum with these weights as they are. With gcn the self-loops stand
/// among the edges, with α = 1. With none the graph keeps its own weights, and the loss alone is normalised.
/// PyG's graph_saint.py is matrix = mean and GraphConv: edge_norm * edge_weight.
///
/// Sampling is done on the CPU, where a copy of a GPU's graph is kept; features are gathered where they are.
class SaintLoader : public Loader<SubgraphBatch> {
 public:
  /// `labels`: [N] or [N,T] by node, optional. `seeds`: int32 or int64 [S], in range, none twice. Draws the
  /// subgraphs of the normalisation. Throws where an argument is not so, naming the place; where features or
  /// labels are not those of the graph's nodes; where options are out of range or a matrix is asked for
  /// without a normalisation; and what SaintSampler throws.
  SaintLoader(const Graph& graph, const FeatureSource& x, const Tensor& labels, const Tensor& seeds,
              SaintLoaderOptions options);
  /// The dataset's graph, features (from their file where they were left there) and labels. Throws where it
  /// has no features.
  SaintLoader(const Dataset& data, const Tensor& seeds, SaintLoaderOptions options);

  /// Of nodes and edges, on the CPU; of 0 samples without one.
  const SaintNormalization& normalization() const;

 private:
  struct Impl;
  explicit SaintLoader(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace adj
