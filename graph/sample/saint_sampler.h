#pragma once

#include <adjoint/core/random.h>
#include <adjoint/graph/subgraph.h>

#include <array>
#include <vector>

namespace adj {

/// Method of drawing the nodes of a subgraph (Zeng et al., GraphSAINT: Graph Sampling Based Inductive
/// Learning Method, 2020, algorithm 2). Draws are independent; repeated nodes count once.
enum class SaintMethod : uint8_t {
  node,  ///< `budget` nodes, each in proportion to its out-degree
  edge,  ///< both ends of `budget` edges u -> v, each in proportion to 1 / out-degree(u) + 1 / in-degree(v)
  walk,  ///< `budget` uniform roots, and from each `walk_length` steps to a random in-neighbour
};
constexpr auto names_of(SaintMethod) { return std::array{"node", "edge", "walk"}; }  ///< in the enum's order

/// Number of draws (`budget`), their `method`, and for walks the `walk_length` in steps.
struct SaintSampling {
  SaintMethod method = SaintMethod::walk;
  int64_t budget = 1000;
  int64_t walk_length = 2;

  /// Maximum number of drawn nodes; sorting takes 4 bytes each.
  static constexpr int64_t kMostDrawn = 100'000'000;

  /// Nodes per draw.
  int64_t nodes_a_draw() const {
    return method == SaintMethod::node ? 1 : method == SaintMethod::edge ? 2 : walk_length + 1;
  }
  /// Throws adj::Error for a budget below 1, a negative length, or more than kMostDrawn nodes.
  void check() const;
};

/// Normalisation that makes the loss and sums over neighbours in sampled subgraphs unbiased, estimated from
/// the counts of nodes and edges in subgraphs drawn beforehand (section 3.2). Counts of 0 are taken as 1.
struct SaintNormalization {
  int64_t samples = 0;  ///< subgraphs that were drawn
  Tensor node;  ///< float32 [N]: 1 / probability of the node, its loss weight: 1 / λ_v up to a factor
  Tensor edge;  ///< float32 [M] by edge number: 1 / α_u,v = C_v / C_u,v, factor of a message u -> v
};

/// Draws induced subgraphs of a graph on the CPU. The result depends only on the seed, not on the number of
/// threads. A cheap, thread-safe handle.
class SaintSampler {
 public:
  /// Throws as SaintSampling::check(), and for a graph without nodes (for node and edge: without edges).
  SaintSampler(Graph graph, const SaintSampling& sampling);

  const Graph& graph() const { return graph_; }
  /// int32, ascending.
  Tensor sample_nodes(uint64_t seed) const;
  /// The subgraph induced by sample_nodes(seed).
  Subgraph sample(uint64_t seed) const { return subgraph_of(graph_, sample_nodes(seed)); }
  /// From subgraphs with `coverage` times the graph's nodes in total; each has a seed derived from `seed` and
  /// its number. Throws for a coverage below 1 or above 2^31 - 1.
  SaintNormalization normalization(int64_t coverage = 50, uint64_t seed = 0) const;

 private:
  // One draw, whose number is the stream; writes its nodes to `nodes`.
  void draw_node(const RandomKey& draw, int32_t* nodes) const;
  void draw_edge(const RandomKey& draw, int32_t* nodes) const;
  void draw_walk(const RandomKey& draw, int32_t* nodes) const;

  Graph graph_;
  SaintSampling sampling_;
  std::vector<int32_t> with_in_edges_, with_out_edges_;  // nodes, for SaintMethod::edge
};

}  // namespace adj
