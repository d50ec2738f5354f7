#pragma once

#include "loader.h"
#include "task.h"
#include <adjoint/models/link.h>

// Learning which pairs of nodes an edge joins.

namespace adj::training {

/// Of a program whose model scores pairs of nodes.
struct LinkOptions {
  double val = 0.05, test = 0.1;  ///< shares of the pairs of nodes that edges join
  int64_t negatives = 1;          ///< drawn for each of the others, every epoch
  std::shared_ptr<NeighborLoading> neighbor = std::make_shared<NeighborLoading>();

  /// Adds these options and the loader to a program's.
  void add_to(Options& options);
  void check() const;
};

/// Takes --val and --test of the pairs that edges join out of the dataset's graph, by --seed
/// (random_link_split): to be found among as many that none does. The examples: those of validation, of test,
/// and the pairs that stay, in this order. Throws DataError where a part would be empty, or the graph too
/// dense for as many pairs without an edge.
Examples link_examples(const Options& options, const LinkOptions& links, Dataset& data);

/// "auc", "mrr" (mean reciprocal rank: of each positive pair of a part of the split among all negative pairs
/// of that part, ties in the middle) and "hits@K" (positive pairs that score above the K-th best of those), K
/// as `metric` says it, else 50. Throws UsageError where K is none.
std::vector<Metric> link_metrics(const std::string& metric);

/// Pairs to train on in one step.
struct LinkStepBatch {
  NodeBatch nodes;  ///< what the embeddings of their nodes are computed over
  Relation pairs;   ///< rows of the embeddings
  Tensor label;     ///< float32 [P, 1]: 1 of positive pairs
};
/// One training step, as NodeStep.
using LinkStep = std::function<Var(const LinkStepBatch&)>;

/// Every epoch tells the pairs that stay from negative ones that are drawn anew, --negatives a pair: all at
/// once, or --loader neighbor in the batches of a LinkLoader. What is drawn depends on the run's seed and the
/// epoch.
std::unique_ptr<Epochs> link_epochs(const Run& run, const LinkOptions& options, models::LinkModel& model,
                                    LinkStep step);

/// Writes the test pairs to --predict. HDF5: pairs/src and pairs/dst int32 [P] (nodes as they stood at first,
/// where they were reordered), pairs/score float32 [P], a logit, and pairs/label uint8 [P].
void write_links(const Run& run);

}  // namespace adj::training
