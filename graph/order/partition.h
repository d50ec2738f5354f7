#pragma once

#include <adjoint/graph/relation.h>

namespace adj {

/// Options of metis_partition().
struct PartitionOptions {
  double imbalance = 0.03;  ///< maximum part size over the mean, minus 1; METIS mostly respects it
  uint64_t seed = 0;        ///< to 2^31 - 1
};

/// Partitions the nodes into `parts` parts of about equal size with few edges between them: int32 [N] on the
/// graph's device, the part of each node. Multilevel k-way partitioning by METIS (Karypis & Kumar 1998) of
/// the undirected graph: self-loops are ignored, every other edge counts, in either direction. No part is
/// empty; with at least as many parts as nodes, node i is part i. Used for mini-batch clusters (Cluster-GCN,
/// Chiang et al. 2019) and for block orders (graph/order/orders.h).
///
/// The same graph, options and METIS library give the same bits. METIS uses the C library's rand(), so calls
/// are serialized, and runs on one host thread for any device. It uses 32-bit counts: throws adj::Error for
/// 2^31 or more neighbour pairs, each counted from both sides. It took 45 bytes per edge in addition to the
/// graph, for 21.7 million directed ones.
Tensor metis_partition(const Relation& relation, int64_t parts, const PartitionOptions& options = {});

/// The sizes of the parts and the edges between them.
struct PartitionSummary {
  int64_t parts = 0;     ///< the largest part's number + 1
  int64_t cut = 0;       ///< edges between parts; an undirected one counts twice
  int64_t smallest = 0;  ///< in nodes
  int64_t largest = 0;   ///< in nodes
  double balance = 1.0;  ///< largest / mean; 1 is best
};
/// `part` int32 [N], each 0 or more. Throws otherwise.
PartitionSummary summarize_partition(const Relation& relation, const Tensor& part);

}  // namespace adj
