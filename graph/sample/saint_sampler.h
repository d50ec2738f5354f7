#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/subgraph.h>

#include <vector>

namespace adj {

/// How GraphSAINT draws the nodes of a subgraph (Zeng et al., GraphSAINT: Graph Sampling Based Inductive
/// Learning Method, 2020, algorithm 2). Draws are independent, so that what is drawn twice counts once.
enum class SaintMethod : uint8_t {
  node,  ///< `budget` nodes, each in proportion to its out-degree
  edge,  ///< both ends of `budget` edges u -> v, each in proportion to 1 / out-degree(u) + 1 / in-degree(v)
  walk,  ///< `budget` roots, each node alike, and from each `walk_length` steps to a random in-neighbour
};

struct SaintSampling {
  SaintMethod method = SaintMethod::walk;
  int64_t budget = 1000;
  int64_t walk_length = 2;

  /// Nodes that a subgraph may be drawn of: they are sorted, at 4 bytes each.
  static constexpr int64_t kMostDrawn = 100'000'000;

  /// How many nodes each of the `budget` draws gives.
  int64_t nodes_a_draw() const {
    return method == SaintMethod::node ? 1 : method == SaintMethod::edge ? 2 : walk_length + 1;
  }
  /// Throws adj::Error for a budget below 1, a negative length, or more than kMostDrawn nodes.
  void check() const;
};

/// What makes a loss and sums over neighbours in sampled subgraphs unbiased: estimated from how often nodes
/// and edges occur in subgraphs drawn beforehand (section 3.2 there). What occurred in none counts as if it
/// had once.
struct SaintNormalization {
  int64_t samples = 0;
  Tensor node;  ///< float32 [N]: 1 / probability of the node, by which its loss is weighted: 1 / λ_v up to a
                ///< factor
  Tensor
      edge;  ///< float32 [M] by edge number: 1 / α_u,v = C_v / C_u,v, by which a message u -> v is multiplied
};

/// Draws subgraphs of a graph on the CPU: induced by the nodes drawn, of a seed alone, whatever the number of
/// threads. A cheap handle, thread-safe.
class SaintSampler {
 public:
  /// Throws what SaintSampling::check() does, and for a graph without nodes (or, unless it walks, edges).
  SaintSampler(Graph graph, const SaintSampling& sampling);

  const Graph& graph() const { return graph_; }
  /// int32, ascending.
  Tensor sample_nodes(uint64_t seed) const;
  Subgraph sample(uint64_t seed) const { return subgraph_of(graph_, sample_nodes(seed)); }
  /// From as many subgraphs as hold `coverage` times the graph's nodes together; each takes a seed made from
  /// `seed` and its number. Throws for a coverage below 1 or above 2^31 - 1.
  SaintNormalization normalization(int64_t coverage = 50, uint64_t seed = 0) const;

 private:
  // One draw: its number is the stream, and the nodes go to `to`.
  void draw_node(const RandomKey& draw, int32_t* to) const;
  void draw_edge(const RandomKey& draw, int32_t* to) const;
  void draw_walk(const RandomKey& draw, int32_t* to) const;

  Graph graph_;
  SaintSampling sampling_;
  std::vector<int32_t> with_in_edges_, with_out_edges_;  // nodes, where edges are drawn
};

}  // namespace adj
