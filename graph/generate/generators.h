#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace adj {

/// A graph of `nodes` nodes as a list of directed edges src[e] -> dst[e]; parallel edges may occur. Draws
/// depend only on the seed and the edge number.
struct EdgeList {
  int64_t nodes = 0;
  std::vector<int32_t> src, dst;
};

/// Power-law targets: the node of rank r, with ranks assigned to nodes at random, is drawn with probability
/// proportional to (r + shift)^-exponent. Sources likewise, or uniform unless `skewed_sources`.
struct PowerLaw {
  double exponent = 0.62;
  double shift = 0.6;
  bool skewed_sources = false;
};
/// Throws unless the shift is positive, the exponent finite, and the counts are below 2^31.
EdgeList power_law_graph(int64_t nodes, int64_t edges, const PowerLaw& law, uint64_t seed);

/// A grid in row-major order, `width` nodes per row. `edges` of its edges (both directions of each
/// neighbourhood) are kept, each subset with equal probability, in target order. Throws if the grid has
/// fewer.
EdgeList thinned_grid(int64_t nodes, int64_t width, int64_t edges, uint64_t seed);

/// Uniform targets; the source is from the target's community (`community` consecutive nodes) with
/// probability `inside`, else uniform.
EdgeList community_graph(int64_t nodes, int64_t edges, int64_t community, double inside, uint64_t seed);

/// Appends the reverse of every edge.
EdgeList symmetric(EdgeList graph);

/// Recursive matrix (R-MAT; Chakrabarti, Zhan & Faloutsos 2004): each edge falls into a quadrant of the
/// adjacency matrix (rows are sources) with these probabilities, then into a quadrant of that, and so on down
/// to one cell. If `nodes` is not a power of two, row i of the next power's cells is node floor(i nodes /
/// cells). Low node numbers are the hubs. Parallel edges and self-loops may occur. Throws unless the
/// probabilities sum to 1.
struct RMat {
  double a = 0.57, b = 0.19, c = 0.19, d = 0.05;  ///< a, b: upper left and right; c, d: lower left and right
};
/// Draws each of the `edges` edges with these probabilities, independently.
EdgeList rmat_graph(int64_t nodes, int64_t edges, const RMat& probabilities, uint64_t seed);

/// G(n, m) (Erdős & Rényi 1959): a uniformly random set of `edges` distinct edges without self-loops.
/// `undirected`: a random set of node pairs; `edges` counts both directions, and the reverses follow the
/// other edges. Throws if there are fewer possible edges, or for an undirected graph with an odd number of
/// edges. Takes 16 extra bytes per edge temporarily.
EdgeList erdos_renyi_graph(int64_t nodes, int64_t edges, uint64_t seed, bool undirected = false);

/// Planted partition (Condon & Karp 2001): the blocks and a graph with more edges within them.
struct PlantedPartition {
  EdgeList edges;
  std::vector<int32_t> block;  ///< block of each node
};
/// Nodes are assigned at random to blocks whose sizes differ by at most one. There are nodes * degree / 2
/// undirected edges, rounded; the share `homophily`, rounded, lies within blocks. Edges within and between
/// blocks are drawn uniformly, without self-loops or parallel edges; the reverses follow the other edges.
/// Throws if more than half of the pairs within blocks, or between them, would be edges. Memory as
/// erdos_renyi_graph().
PlantedPartition planted_partition(int64_t nodes, int64_t blocks, double degree, double homophily,
                                   uint64_t seed);

/// A base graph to whose nodes motifs are attached by an edge each.
struct MotifGraph {
  EdgeList edges;  ///< both directions of each
  /// Of each node the motif that it belongs to, or -1, and its role, from 1 in a motif, 0 in the base.
  std::vector<int32_t> motif, role;
};
/// Barabási-Albert graph (1999): each node from number `degree` on joins as many others, drawn in proportion
/// to their degrees, as PyG's barabasi_albert_graph; pairs that are drawn twice, and loops, count once and
/// not at all. `houses` distinct random nodes of it get a house of 5 nodes and 6 edges (Ying et al.,
/// GNNExplainer, 2019, BA-Shapes), by an edge to a random node of the house; roles 1, 1, 2, 2, 3: middle,
/// bottom and top. Throws for fewer than degree + 1 nodes, and more houses than nodes.
MotifGraph house_graph(int64_t nodes, int64_t degree, int64_t houses, uint64_t seed);
/// A balanced binary tree of 2^(depth + 1) - 1 nodes, to which cycles of `length` nodes are attached likewise
/// (Tree-Cycles, the same paper); role 1 in a cycle.
MotifGraph tree_cycle_graph(int64_t depth, int64_t cycles, int64_t length, uint64_t seed);

/// Star with centre 0: edges from the `leaves` other nodes to it, or outward.
EdgeList star_graph(int64_t leaves, bool outward);

/// Synthetic stand-in for a well-known graph, with the same number of nodes and edges and similar degree
/// skew, for benchmarks. Parallel edges and self-loops may occur, except on grids.
struct NamedGraph {
  /// Generator: power_law_graph() with `law`, the same plus reverse edges, thinned_grid(), or
  /// community_graph(); `width` is the nodes per grid row or community, and 80 % of the edges are inside.
  enum class Shape : uint8_t { power_law, symmetric_power_law, grid, communities };

  std::string name;      ///< that named_graph() takes
  int64_t nodes, edges;  ///< edges include both directions of undirected ones
  Shape shape;           ///< its generator
  PowerLaw law = {};     ///< for both power-law shapes
  int64_t width = 0;     ///< for grid and communities
};
/// "arxiv" (in-degrees up to about 4,500 with skewness 83), "roads", "hm" and "tolokers" (degrees up to about
/// 2,200), and common benchmark graphs under their own names: the citation graphs cora, citeseer, pubmed and
/// ogbn-arxiv; ogbn-products; pokec-regions; and from GraphLand (Bazhenov et al. 2025) hm-categories,
/// tolokers-2, avazu-ctr, twitch-views, artnet-exp, city-reviews, city-roads-M, city-roads-L and web-traffic.
/// Roads are thinned grids; the others have power-law degrees, fitted to the real graph's largest degree
/// where known (168, 99 and 171 in the Planetoid graphs, 35,279 in twitch-views, 17,481 in ogbn-products,
/// 13,733 in pokec-regions).
const std::vector<NamedGraph>& named_graphs();
std::vector<std::string> graph_names();  ///< of named_graphs(), in the same order
/// The same seed gives the same bits for any number of threads, and in later versions. Throws UsageError for
/// an unknown name.
EdgeList named_graph(const std::string& name, uint64_t seed);

}  // namespace adj
