#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/graph.h>

namespace adj {

struct NegativeSampling {
  bool self_loops = false;  ///< may a node be drawn with itself, where it has no self-loop?
  bool repeated = false;    ///< may a pair be drawn more than once?
};

/// `count` pairs of nodes without an edge src -> dst between them, int32 [count] each on the graph's device:
/// of all such pairs, each is as likely as any other, however dense the graph. What is drawn depends on the
/// graph and the generator alone, not on the device. Throws where the graph has fewer such pairs (or, if they
/// may be repeated, none).
///
/// Drawn on the host, O(log N + log degree) a pair: pairs without an edge are counted row by row, once for a
/// structure, which keeps 4 bytes an edge and 16 a node in the host's memory; a pair is then found by its
/// rank.
EdgeIndex negative_sampling(const Graph& graph, int64_t count, Generator& generator,
                            const NegativeSampling& options = {});
/// Likewise between two sets of nodes, where nothing is a self-loop.
EdgeIndex negative_sampling(const Relation& relation, int64_t count, Generator& generator,
                            bool repeated = false);

}  // namespace adj
