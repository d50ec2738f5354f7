#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace adj {

/// A graph as a plain list of directed edges src[e] -> dst[e]; parallel edges may occur. What is drawn
/// depends on the seed and the edge's number alone.
struct EdgeList {
  int64_t nodes = 0;
  std::vector<int32_t> src, dst;
};

/// Targets by a power law: the node of rank r, ranks being dealt to nodes at random, is drawn in proportion
/// to (r + shift)^-exponent. Sources alike or, unless `skewed_sources`, uniformly.
struct PowerLaw {
  double exponent = 0.62;
  double shift = 0.6;
  bool skewed_sources = false;
};
EdgeList power_law_graph(int64_t nodes, int64_t edges, const PowerLaw& law, uint64_t seed);

/// A grid in row order, `width` nodes to a row, of whose edges (both directions of each neighbourhood)
/// `edges` are kept, each subset with the same probability; in order of their targets. Throws if the grid has
/// fewer.
EdgeList thinned_grid(int64_t nodes, int64_t width, int64_t edges, uint64_t seed);

/// Targets uniform; the source from the target's community (`community` consecutive nodes) with probability
/// `inside`, else uniform.
EdgeList community_graph(int64_t nodes, int64_t edges, int64_t community, double inside, uint64_t seed);

/// With the reverse of every edge behind it.
EdgeList symmetric(EdgeList graph);

/// Recursive matrix (R-MAT; Chakrabarti, Zhan & Faloutsos 2004): each edge falls into a quadrant of the
/// adjacency matrix (rows are sources) with these probabilities, into a quadrant of that, and so on, until it
/// stands in one cell. Nodes that are no power of two: of the cells of the next one, row i is node
/// floor(i nodes / cells). Small numbers are the hubs. Parallel edges and self-loops may occur. Throws unless
/// the probabilities add up to 1.
struct RMat {
  double a = 0.57, b = 0.19, c = 0.19, d = 0.05;
};
EdgeList rmat_graph(int64_t nodes, int64_t edges, const RMat& probabilities, uint64_t seed);

/// G(n, m) (Erdős & Rényi 1959): of all sets of `edges` different edges without self-loops each is as likely
/// as any other. `undirected`: sets of pairs of nodes, `edges` counts both directions, and the reverses stand
/// behind the others. Throws if there are fewer, or undirected an odd number of edges. Takes 16 bytes an edge
/// beside its result for a while.
EdgeList erdos_renyi_graph(int64_t nodes, int64_t edges, uint64_t seed, bool undirected = false);

/// A partition and a graph that shows it (planted partition; Condon & Karp 2001).
struct PlantedPartition {
  EdgeList edges;
  std::vector<int32_t> block;  ///< of each node
};
/// Nodes dealt at random to blocks that differ in size by one at most; nodes * degree / 2 undirected edges,
/// rounded, of which the share `homophily`, rounded, lies within blocks; those within and those between are
/// drawn uniformly, without self-loops or parallel edges, and the reverses stand behind the others. Throws
/// where more than half of the pairs of nodes within blocks, or between them, would be edges. Memory as
/// erdos_renyi_graph().
PlantedPartition planted_partition(int64_t nodes, int64_t blocks, double degree, double homophily,
                                   uint64_t seed);

/// Node 0 is the centre: edges lead from the `leaves` other nodes to it, or from it to them.
EdgeList star_graph(int64_t leaves, bool outward);

/// A stand-in of a graph that is well known, with as many nodes and edges and degrees as skewed, for
/// measurements. Parallel edges and self-loops may occur but on grids.
struct NamedGraph {
  /// How the edges are drawn: power_law_graph() with `law`, the same with every edge's reverse,
  /// thinned_grid() and community_graph() with `width` nodes to a row or community, 80 % of the edges inside.
  enum class Shape : uint8_t { power_law, symmetric_power_law, grid, communities };

  std::string name;
  int64_t nodes, edges;  ///< both directions of an undirected edge count
  Shape shape;
  PowerLaw law = {};
  int64_t width = 0;
};
/// "arxiv" (in-degrees up to about 4,500 with skewness 83), "roads", "hm" and "tolokers" (degrees up to about
/// 2,200), and the graphs of a common suite of benchmarks by their own names: citations cora, citeseer,
/// pubmed and ogbn-arxiv, ogbn-products, pokec-regions, and of GraphLand (Bazhenov et al. 2025)
/// hm-categories, tolokers-2, avazu-ctr, twitch-views, artnet-exp, city-reviews, city-roads-M, city-roads-L
/// and web-traffic. Roads are thinned grids; degrees of the others follow power laws, made for the real
/// graph's largest degree where that was known (168, 99 and 171 in the Planetoid graphs, 35,279 in
/// twitch-views, 17,481 in ogbn-products, 13,733 in pokec-regions).
const std::vector<NamedGraph>& named_graphs();
/// Those names.
std::vector<std::string> graph_names();
/// The same seed gives the same bits under any number of threads, and in later versions. Throws UsageError on
/// another name.
EdgeList named_graph(const std::string& name, uint64_t seed);

}  // namespace adj
