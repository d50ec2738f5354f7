#pragma once

#include "epochs.h"
#include <adjoint/models/link.h>

// Learning which pairs of nodes an edge joins.

namespace adj::apps {

using models::LinkModel;

/// Takes --val and --test of the pairs that edges join out of the dataset's graph, by --seed
/// (random_link_split): to be found among as many that none does. The examples: those of validation, of test,
/// and the pairs that stay, in this order. Throws DataError naming `file` where a part would be empty, or the
/// graph too dense for as many pairs without an edge.
Examples link_examples(Dataset& data, const std::string& file, const Settings& settings);

/// "auc", "mrr" (mean reciprocal rank: of each joined pair of a part of the split among all pairs of that
/// part that no edge joins, ties in the middle) and "hits@K" (joined pairs that score above the K-th best of
/// those), K as --metric says it, else 50. Throws UsageError where K is none.
std::vector<Metric> link_metrics(const Settings& settings);

/// Every epoch finds the pairs that stay among others that are drawn anew, --negatives a pair: all at once,
/// or
/// --loader neighbor in the batches of a LinkLoader. What is drawn depends on the run's seed and the epoch.
std::unique_ptr<Epochs> link_epochs(const Training& training, optim::NonFiniteMonitor* losses);

/// HDF5: the test pairs, pairs/src and pairs/dst int32 [P] (nodes as they stood at first, where they were
/// reordered), pairs/score float32 [P], a logit, and pairs/label uint8 [P].
void write_links(const std::string& path, const Dataset& data, const Examples& examples,
                 const Tensor& output);

}  // namespace adj::apps
