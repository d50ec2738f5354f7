#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/joint_graph.h>

namespace adj {

/// Options of negative_sampling() for a graph.
struct NegativeSampling {
  bool self_loops = false;  ///< allow self-pairs of nodes without self-loop
  bool repeated = false;    ///< with replacement
  /// Pairs without an edge in either direction, src < dst: for scores that do not depend on the direction.
  bool undirected = false;
};

/// `count` pairs of nodes without an edge src -> dst, int32 [count] each on the graph's device, uniformly
/// from all such pairs, for graphs of any density. The result depends only on the graph and the generator,
/// not on the device. Throws if the graph has fewer such pairs (with replacement: none).
///
/// Drawn on the host in O(log N + log degree) per pair: the free pairs of each row are counted once per
/// structure (4 bytes per edge and 16 per node of host memory), and a pair is found by its rank.
EdgeIndex negative_sampling(const Graph& graph, int64_t count, Generator& generator,
                            const NegativeSampling& options = {});
/// Between two sets of nodes; there are no self-pairs.
EdgeIndex negative_sampling(const Relation& relation, int64_t count, Generator& generator,
                            bool repeated = false);

/// For each of the targets `dst`, int32 [K], which may repeat, a source without an edge to it: int32 [K],
/// each of them as likely to within 2^-32. Element k comes from position k of the stream. Found as above, in
/// O(log degree). Throws for a target out of range, and one with an edge from every source.
Tensor negative_sources(const Relation& relation, const Tensor& dst, Generator& generator);

/// Pairs without an edge, drawn with replacement again and again: of two nodes of a graph, or from the
/// sources to the targets of one relation of a joint graph.
class NegativePairs {
 public:
  /// As negative_sampling(); the pairs `known` count as edges, too. Throws if every pair is an edge.
  NegativePairs(const Graph& graph, const EdgeIndex& known, bool undirected);
  /// Of a joint graph's nodes; between nodes of one type in neither direction an edge.
  NegativePairs(const Graph& joint, const EdgeIndex& known, const JointPairs& pairs);

  /// int32 [count] each, on the CPU. Depends only on the pairs and the generator.
  EdgeIndex draw(int64_t count, Generator& generator) const;

 private:
  void count_pairs() const;

  Graph graph_;        // of pairs within a set of nodes
  Relation relation_;  // of pairs between two; absent for one
  bool undirected_ = true;
  int32_t src_begin_ = 0, dst_begin_ = 0;  // what is added to the numbers
};

}  // namespace adj
