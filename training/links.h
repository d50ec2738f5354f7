#pragma once

#include <adjoint/models/link.h>
#include <adjoint/training/loader.h>
#include <adjoint/training/task.h>

// Training of link prediction.

namespace adj::training {

/// Options of a program whose model scores pairs of nodes. `neighbor`: its only loader, never null.
struct LinkOptions {
  double val = 0.05, test = 0.1;  ///< shares of the connected pairs
  int64_t negatives = 1;          ///< drawn per training pair, every epoch
  std::string edges = "auto";     ///< of several types: the relation; "auto": the only one that is no reverse
  std::shared_ptr<NeighborLoading> neighbor = std::make_shared<NeighborLoading>();

  /// Adds these options and the loader to a program's.
  void add_to(Options& options);
  /// Throws UsageError if they are out of range, or `settings` has one that the chosen model does not take.
  void check(const Settings& settings) const;
};

/// Throws UsageError if `settings` has an option of an encoder that the chosen one does not take.
void check_encoder_options(const Settings& settings);

/// Removes --val and --test shares of the connected pairs from the dataset's graph, by --seed
/// (random_link_split), and draws as many negatives for them. The decoders do not know a direction: each pair
/// counts once, and negatives have no edge in either direction. Examples, in order: validation, test and
/// remaining pairs. Throws DataError if a part would be empty, the graph is too dense for the negatives, or
/// there are many graphs, between which they would be.
Examples link_examples(const Options& options, const LinkOptions& links, Dataset& data);

/// "auc", "mrr" (mean reciprocal rank of each positive among all negatives of the same part of the split;
/// ties get the middle rank) and "hits@K" (share of positives scoring above the K-th best negative), K from
/// `metric`, else 50. Throws UsageError for an invalid K.
std::vector<Metric> link_metrics(const std::string& metric);
/// The same for these examples: throws UsageError for an asked-for K that is not below the number of
/// negatives of each part; instead of 50 takes 20, 10, 5 or 1.
std::vector<Metric> link_metrics(const std::string& metric, const Examples& examples);

/// Examples, in order: validation, test and remaining pairs, as rows of the embeddings. Throws DataError
/// naming `place` if a part is empty.
Examples examples_of(const LinkExamples& val, const LinkExamples& test, const EdgeIndex& train,
                     const LinkOptions& links, const std::string& place);

/// The task of a training on links of --data, with link_metrics(); of a typed model typed_link_task().
LearningTask link_task(const Settings& settings, const LinkOptions& links);

/// Pairs of one training step.
struct LinkStepBatch {
  NodeBatch nodes;  ///< input for the embeddings of their nodes
  Relation pairs;   ///< rows of the embeddings
  Tensor label;     ///< float32 [P, 1]: 1 for positive pairs
};

/// Each epoch trains on the remaining pairs and newly drawn negatives, --negatives per pair: full-batch, or
/// with --loader neighbor in the batches of a LinkLoader. Draws depend on the run's seed and the epoch.
std::unique_ptr<Batches<LinkStepBatch>> link_batches(const Run& run, const LinkOptions& options,
                                                     models::LinkModel& model);

/// Writes the test pairs to --predict. HDF5: pairs/src and pairs/dst int32 [P] (node numbers before any
/// reordering), pairs/score float32 [P], a logit, and pairs/label uint8 [P].
void write_links(const Run& run);

}  // namespace adj::training
