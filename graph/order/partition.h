#pragma once

#include <adjoint/graph/relation.h>

namespace adj {

struct PartitionOptions {
  double imbalance = 0.03;  ///< how much larger than the mean a part may be; METIS mostly keeps to it
  uint64_t seed = 0;        ///< to 2^31 - 1
};

/// The nodes in `parts` parts of about one size between which there are few edges: int32 [N] on the graph's
/// device, the part of each node. Multilevel k-way partitioning by METIS (Karypis & Kumar 1998), of the graph
/// as undirected neighbourhoods: self-loops do not count, each other edge does, in either direction. No part
/// is empty; with as many parts as nodes or more, node i is part i. What a step's clusters (Cluster-GCN,
/// Chiang et al. 2019) and blocks of nodes side by side (graph/order/orders.h) are made of.
///
/// The same graph, options and METIS library give the same bits. METIS draws from the C library's rand(), so
/// that calls wait for one another, and runs on one thread of the host, wherever the graph is. It counts in
/// 32 bits: throws adj::Error where pairs of neighbours, each seen from both sides, are 2^31 or more. Beside
/// the graph it took 45 bytes an edge, of 21.7 million directed ones.
Tensor metis_partition(const Relation& relation, int64_t parts, const PartitionOptions& options = {});

/// What a partition is worth.
struct PartitionSummary {
  int64_t parts = 0;     ///< the largest part's number + 1
  int64_t cut = 0;       ///< edges between parts; an undirected one counts twice
  int64_t smallest = 0;  ///< nodes of a part
  int64_t largest = 0;
  double balance = 1.0;  ///< largest / mean, 1 at best
};
/// `part` int32 [N], each 0 or more. Throws otherwise.
PartitionSummary summarize_partition(const Relation& relation, const Tensor& part);

}  // namespace adj
