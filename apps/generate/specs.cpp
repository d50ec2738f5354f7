#include "specs.h"

#include "../common/command_line.h"
#include <adjoint/adjoint.h>

#include <limits>

#include <fmt/ranges.h>

namespace po = boost::program_options;

namespace adj::apps {

namespace {

constexpr int64_t kNotGiven = std::numeric_limits<int64_t>::min();

/// What stands at the nodes of a graph in which there is nothing to learn.
struct NodeOptions {
  int64_t features = 64, classes = 10;
  bool none = false;

  void add(po::options_description& options) {
    options.add_options()("features", with_default(features), "columns of random features")(
        "classes", with_default(classes), "random classes")(
        "no-features", po::bool_switch(&none), "structure alone: no features, classes and split");
  }
  Dataset dataset(EdgeList edges, uint64_t seed) const {
    return none ? make_bare_dataset(std::move(edges))
                : make_random_dataset(std::move(edges), features, classes, seed);
  }
};

/// A spec with the options of `O`, of which it is made by O::draw(seed), and those of nodes.
template <class O>
Spec graph_spec(const std::string& name, const std::string& summary, O given = {}) {
  const auto own = std::make_shared<O>(std::move(given));
  const auto nodes = std::make_shared<NodeOptions>();
  Spec spec{name, summary, po::options_description(fmt::format("Options of {}", name)), {}};
  own->add(spec.options);
  nodes->add(spec.options);
  spec.make = [own, nodes](uint64_t seed) { return nodes->dataset(own->draw(seed), seed); };
  return spec;
}

struct Counts {
  int64_t nodes, edges;
  bool undirected = false;

  void add(po::options_description& options) {
    options.add_options()("nodes", with_default(nodes), "nodes")("edges", with_default(edges),
                                                                 "edges, both directions counted")(
        "undirected", po::bool_switch(&undirected), "each edge in both directions, an even number together");
  }
  /// `draw(count)` of as many edges as are to be drawn.
  template <class Draw>
  EdgeList list(Draw draw) const {
    ADJ_CHECK(!undirected || edges % 2 == 0, "--edges: expected an even number of undirected ones, got {}",
              edges);
    return undirected ? symmetric(draw(edges / 2)) : draw(edges);
  }
};

struct RMatOptions {
  Counts counts{1 << 16, 1 << 20};
  RMat shares;
  int64_t scale = kNotGiven;

  void add(po::options_description& options) {
    counts.add(options);
    options.add_options()("scale", po::value(&scale)->value_name("N"), "2^N nodes, instead of --nodes")(
        "a", with_default(shares.a), "share of edges among the first half of the nodes")(
        "b", with_default(shares.b), "from the first half to the second")(
        "c", with_default(shares.c), "from the second half to the first")("d", with_default(shares.d),
                                                                          "among the second half");
  }
  EdgeList draw(uint64_t seed) const {
    const bool scaled = scale != kNotGiven;
    ADJ_CHECK(!scaled || (scale >= 0 && scale <= 30), "--scale: expected 0 to 30, got {}", scale);
    const int64_t nodes = scaled ? int64_t{1} << scale : counts.nodes;
    return counts.list([&](int64_t edges) { return rmat_graph(nodes, edges, shares, seed); });
  }
};

struct PowerLawOptions {
  Counts counts{100000, 1000000};
  PowerLaw law;

  void add(po::options_description& options) {
    counts.add(options);
    options.add_options()("exponent", with_default(law.exponent),
                          "the node of rank r draws edges in proportion to (r + shift)^-N")(
        "shift", with_default(law.shift), "more of it bounds the largest degrees")(
        "skewed-sources", po::bool_switch(&law.skewed_sources), "sources by the same law, not uniform");
  }
  EdgeList draw(uint64_t seed) const {
    PowerLaw both = law;
    both.skewed_sources |= counts.undirected;
    return counts.list([&](int64_t edges) { return power_law_graph(counts.nodes, edges, both, seed); });
  }
};

struct ErdosRenyiOptions {
  Counts counts{100000, 1000000};

  void add(po::options_description& options) { counts.add(options); }
  EdgeList draw(uint64_t seed) const {
    return erdos_renyi_graph(counts.nodes, counts.edges, seed, counts.undirected);
  }
};

struct GridOptions {
  int64_t rows = 300, columns = 300, edges = kNotGiven;

  void add(po::options_description& options) {
    options.add_options()("rows", with_default(rows), "rows")("columns", with_default(columns), "columns")(
        "edges", po::value(&edges)->value_name("N"),
        "directed edges that are kept, each set of so many alike (default: all)");
  }
  EdgeList draw(uint64_t seed) const {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    ADJ_CHECK(rows >= 1 && columns >= 1 && rows <= kMost / columns,
              "--rows, --columns: expected 1 or more and up to 2^31 - 1 nodes, got {} and {}", rows, columns);
    const int64_t all = 2 * (rows * (columns - 1) + columns * (rows - 1));
    return thinned_grid(rows * columns, columns, edges == kNotGiven ? all : edges, seed);
  }
};

struct StarOptions {
  int64_t leaves = 10000;
  bool outward = false;

  void add(po::options_description& options) {
    options.add_options()("leaves", with_default(leaves), "nodes around the centre, which is node 0")(
        "outward", po::bool_switch(&outward), "edges out of the centre, not into it");
  }
  EdgeList draw(uint64_t) const { return star_graph(leaves, outward); }
};

struct Preset {
  std::string name;

  void add(po::options_description&) {}
  EdgeList draw(uint64_t seed) const { return named_graph(name, seed); }
};

Spec preset(const NamedGraph& graph) {
  Spec spec = graph_spec(graph.name,
                         fmt::format("as many nodes ({}) and edges ({}) as {}, and degrees as skewed",
                                     graph.nodes, graph.edges, graph.name),
                         Preset{graph.name});
  spec.make = [name = graph.name, make = std::move(spec.make)](uint64_t seed) {
    Dataset data = make(seed);
    data.name = name;
    return data;
  };
  return spec;
}

Spec citation() {
  const auto o = std::make_shared<CitationOptions>();
  Spec spec{"citation",
            "a citation-like graph with bags of words or means of their vectors",
            po::options_description("Options of citation"),
            {}};
  spec.options.add_options()("nodes", with_default(o->nodes), "nodes")(
      "classes", with_default(o->classes), "classes")("features", with_default(o->features),
                                                      "words in the vocabulary")(
      "degree", with_default(o->degree), "mean number of neighbours")("homophily", with_default(o->homophily),
                                                                      "share of edges within a class")(
      "words", with_default(o->words), "mean number of words drawn for a node")(
      "signal", with_default(o->signal), "share of words drawn from the class's own distribution")(
      "word-vectors", with_default(o->word_vectors),
      "columns of dense features, means of the words' vectors as ogbn-arxiv has them (0: bags of words)")(
      "train-per-class", with_default(o->train_per_class), "training nodes of each class")(
      "val", with_default(o->val), "validation nodes")("test", with_default(o->test), "test nodes");
  spec.make = [o](uint64_t seed) {
    o->seed = seed;
    return make_citation_dataset(*o);
  };
  return spec;
}

Spec planted() {
  const auto o = std::make_shared<PlantedOptions>();
  const auto bare = std::make_shared<bool>();
  Spec spec{"planted",
            "a planted partition with dense features of the classes, of any size",
            po::options_description("Options of planted"),
            {}};
  spec.options.add_options()("nodes", with_default(o->nodes), "nodes")(
      "classes", with_default(o->classes), "classes, of the same size")("features", with_default(o->features),
                                                                        "columns of the features")(
      "degree", with_default(o->degree), "mean number of neighbours")("homophily", with_default(o->homophily),
                                                                      "share of edges within a class")(
      "signal", with_default(o->signal), "distance of a class's mean from 0, the noise's deviation being 1")(
      "no-features", po::bool_switch(bare.get()), "classes and split, but no features");
  spec.make = [o, bare](uint64_t seed) {
    ADJ_CHECK(o->features >= 1, "--features: expected 1 or more, got {}", o->features);
    if (*bare) o->features = 0;
    o->seed = seed;
    return make_planted_dataset(*o);
  };
  return spec;
}

std::vector<Spec> specs() {
  std::vector<Spec> all{
      citation(),
      planted(),
      graph_spec<RMatOptions>("rmat", "a recursive matrix (R-MAT; Chakrabarti et al. 2004)"),
      graph_spec<PowerLawOptions>("power-law", "in-degrees by a power law, or both degrees"),
      graph_spec<ErdosRenyiOptions>("erdos-renyi", "edges drawn uniformly, none twice"),
      graph_spec<GridOptions>("grid", "a grid, thinned to be like roads where --edges is given"),
      graph_spec<StarOptions>("star", "one node that is linked to all others")};
  for (const NamedGraph& graph : named_graphs()) all.push_back(preset(graph));
  return all;
}

}  // namespace

std::string spec_names() {
  std::vector<std::string> names;
  for (const Spec& spec : specs()) names.push_back(spec.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Spec spec_named(const std::string& name) {
  std::vector<std::string> names;
  for (Spec& spec : specs()) {
    if (spec.name == name) return std::move(spec);
    names.push_back(spec.name);
  }
  throw UsageError(fmt::format("SPEC '{}': expected one of {}{}", name, fmt::join(names, ", "),
                               did_you_mean(name, names)));
}

}  // namespace adj::apps
