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

/// Stand-ins of well-known sizes and shapes, for measurements. "arxiv": 169,343 nodes, 1,166,243 edges,
/// in-degrees up to about 4,500 with skewness 83. "roads": 142,257 nodes, 279,061 edges, a thinned grid.
/// "hm": 46,563 nodes, 21,725,232 edges, communities of 1,024 with 80 % of them. "tolokers": 11,758 nodes,
/// 1,038,000 edges, symmetric, degrees up to about 2,200.
const std::vector<std::string>& named_graphs();
/// Throws UsageError on another name.
EdgeList named_graph(const std::string& name, uint64_t seed);

}  // namespace adj
