#include <adjoint/core/error.h>
#include <adjoint/graph/generate/generators.h>

#include <fmt/ranges.h>

namespace adj {

const std::vector<NamedGraph>& named_graphs() {
  using enum NamedGraph::Shape;
  const auto skewed = [](double exponent, double shift) {
    return PowerLaw{.exponent = exponent, .shift = shift, .skewed_sources = true};
  };
  // Shifts are fitted to the largest degree: the real graph's, unless a comment gives another.
  static const std::vector<NamedGraph> graphs{
      {"arxiv", 169343, 1166243, power_law},
      {"roads", 142257, 279061, grid, {}, 378},
      {"hm", 46563, 21725232, communities, {}, 1024},
      {"tolokers", 11758, 1038000, symmetric_power_law, skewed(2.48, 728.0)},
      {"hm-categories", 46563, 21461990, symmetric_power_law, skewed(1.0, 531.0)},  // about 9,000
      {"tolokers-2", 11758, 1038000, symmetric_power_law, skewed(2.48, 728.0)},
      {"avazu-ctr", 76269, 21968154, symmetric_power_law, skewed(1.0, 557.0)},  // about 8,000
      {"cora", 2708, 10556, symmetric_power_law, skewed(0.6, 0.74)},
      {"citeseer", 3327, 9104, symmetric_power_law, skewed(0.6, 1.51)},
      {"twitch-views", 168114, 13595114, symmetric_power_law, skewed(0.8, 13.4)},
      {"pubmed", 19717, 88648, symmetric_power_law, skewed(0.8, 42.5)},
      {"artnet-exp", 50405, 560696, symmetric_power_law, skewed(0.7, 8.64)},      // about 1,500
      {"city-reviews", 148801, 2330830, symmetric_power_law, skewed(0.8, 61.8)},  // about 2,000
      {"city-roads-M", 57073, 132570, grid, {}, 239},
      {"ogbn-arxiv", 169343, 1166243, power_law},
      {"ogbn-products", 2449029, 123718280, symmetric_power_law, skewed(0.7, 111.0)},
      {"city-roads-L", 142257, 279061, grid, {}, 378},
      {"pokec-regions", 1632803, 30622564, power_law, skewed(0.6, 5.54)},
      {"web-traffic", 2890331, 12895369, power_law, skewed(0.8, 1.06)},  // about 100,000
  };
  return graphs;
}

std::vector<std::string> graph_names() {
  std::vector<std::string> names;
  for (const NamedGraph& graph : named_graphs()) names.push_back(graph.name);
  return names;
}

namespace {

EdgeList draw(const NamedGraph& g, uint64_t seed) {
  switch (g.shape) {
    case NamedGraph::Shape::power_law:
      return power_law_graph(g.nodes, g.edges, g.law, seed);
    case NamedGraph::Shape::symmetric_power_law:
      return symmetric(power_law_graph(g.nodes, g.edges / 2, g.law, seed));
    case NamedGraph::Shape::grid:
      return thinned_grid(g.nodes, g.width, g.edges, seed);
    default:
      return community_graph(g.nodes, g.edges, g.width, 0.8, seed);
  }
}

}  // namespace

EdgeList named_graph(const std::string& name, uint64_t seed) {
  for (const NamedGraph& graph : named_graphs())
    if (graph.name == name) return draw(graph, seed);
  usage_fail("graph '{}': expected one of {}", name, fmt::join(graph_names(), ", "));
}

}  // namespace adj
