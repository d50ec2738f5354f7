#include "specs.h"

#include "../common/command_line.h"
#include <adjoint/adjoint.h>

#include <limits>

namespace adj::apps {

namespace {

/// Random node data for graphs without anything to learn.
struct NodeOptions {
  int64_t features = 64, classes = 10;
  bool none = false;

  OptionList options() {
    return {{"features", &features, "N", "width of random features"},
            {"classes", &classes, "N", "number of random classes"},
            {"no-features", &none, "", "structure only: no features, classes or split"}};
  }
  Dataset dataset(EdgeList edges, uint64_t seed) const {
    return none ? make_bare_dataset(std::move(edges))
                : make_random_dataset(std::move(edges), features, classes, seed);
  }
};

/// A spec with the options of `O`, drawn by O::draw(seed), and those of nodes.
template <class O>
Spec graph_spec(const std::string& name, const std::string& summary, O defaults = {}) {
  const auto generator = std::make_shared<O>(std::move(defaults));
  const auto nodes = std::make_shared<NodeOptions>();
  OptionList options = generator->options();
  options += nodes->options();
  return {name, summary, std::move(options),
          [generator, nodes](uint64_t seed) { return nodes->dataset(generator->draw(seed), seed); }};
}

struct Counts {
  int64_t nodes, edges;
  bool undirected = false;

  /// With those of `more` behind.
  OptionList options(const OptionList& more = {}) {
    OptionList all{{"nodes", &nodes, "N", "nodes"},
                   {"edges", &edges, "N", "directed edges"},
                   {"undirected", &undirected, "", "each edge in both directions; --edges must be even"}};
    return all += more;
  }
  /// The edges from `draw(count)`: half of them and their reverses if undirected.
  template <class Draw>
  EdgeList list(Draw draw) const {
    ADJ_CHECK(!undirected || edges % 2 == 0, "--edges: expected an even number with --undirected, got {}",
              edges);
    return undirected ? symmetric(draw(edges / 2)) : draw(edges);
  }
};

struct RMatOptions {
  Counts counts{1 << 16, 1 << 20};
  RMat shares;
  int64_t scale = kNotGiven;

  OptionList options() {
    return counts.options({{"scale", &scale, "N", "2^N nodes, instead of --nodes"},
                           {"a", &shares.a, "N", "share of edges among the first half of the nodes"},
                           {"b", &shares.b, "N", "from the first half to the second"},
                           {"c", &shares.c, "N", "from the second half to the first"},
                           {"d", &shares.d, "N", "among the second half"}});
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

  OptionList options() {
    return counts.options(
        {{"exponent", &law.exponent, "N", "the node of rank r draws edges in proportion to (r + shift)^-N"},
         {"shift", &law.shift, "N", "larger values bound the largest degrees"},
         {"skewed-sources", &law.skewed_sources, "", "draw sources by the same law, not uniformly"}});
  }
  EdgeList draw(uint64_t seed) const {
    PowerLaw both = law;
    both.skewed_sources |= counts.undirected;
    return counts.list([&](int64_t edges) { return power_law_graph(counts.nodes, edges, both, seed); });
  }
};

struct ErdosRenyiOptions {
  Counts counts{100000, 1000000};

  OptionList options() { return counts.options(); }
  EdgeList draw(uint64_t seed) const {
    return erdos_renyi_graph(counts.nodes, counts.edges, seed, counts.undirected);
  }
};

struct GridOptions {
  int64_t rows = 300, columns = 300, edges = kNotGiven;

  OptionList options() {
    return {{"rows", &rows, "N", "rows"},
            {"columns", &columns, "N", "columns"},
            {"edges", &edges, "N", "directed edges to keep, drawn uniformly (default: all)"}};
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

  OptionList options() {
    return {{"leaves", &leaves, "N", "nodes around the centre, node 0"},
            {"outward", &outward, "", "edges from the centre, not to it"}};
  }
  EdgeList draw(uint64_t) const { return star_graph(leaves, outward); }
};

struct Preset {
  std::string name;

  OptionList options() { return {}; }
  EdgeList draw(uint64_t seed) const { return named_graph(name, seed); }
};

Spec preset(const NamedGraph& graph) {
  Spec spec = graph_spec(graph.name,
                         fmt::format("a graph with the nodes ({}), edges ({}) and degree skew of {}",
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
  return {"citation",
          "a citation-like graph with bags of words or means of their vectors",
          {{"nodes", &o->nodes, "N", "nodes"},
           {"classes", &o->classes, "N", "classes"},
           {"features", &o->features, "N", "words in the vocabulary"},
           {"degree", &o->degree, "N", "mean number of neighbours"},
           {"homophily", &o->homophily, "N", "share of edges within a class"},
           {"words", &o->words, "N", "mean number of words per node"},
           {"signal", &o->signal, "N", "share of words drawn from the class's own distribution"},
           {"word-vectors", &o->word_vectors, "N",
            "width of dense features, means of word vectors as in ogbn-arxiv (0: bags of words)"},
           {"train-per-class", &o->train_per_class, "N", "training nodes per class"},
           {"val", &o->val, "N", "validation nodes"},
           {"test", &o->test, "N", "test nodes"}},
          [o](uint64_t seed) {
            o->seed = seed;
            return make_citation_dataset(*o);
          }};
}

Spec planted() {
  const auto o = std::make_shared<PlantedOptions>();
  const auto bare = std::make_shared<bool>();
  return {
      "planted",
      "a planted partition of any size with class-dependent dense features",
      {{"nodes", &o->nodes, "N", "nodes"},
       {"classes", &o->classes, "N", "classes of equal size"},
       {"features", &o->features, "N", "width of the features"},
       {"degree", &o->degree, "N", "mean number of neighbours"},
       {"homophily", &o->homophily, "N", "share of edges within a class"},
       {"signal", &o->signal, "N", "distance of a class's mean from 0, with noise of standard deviation 1"},
       {"no-features", bare.get(), "", "classes and split, but no features"}},
      [o, bare](uint64_t seed) {
        ADJ_CHECK(o->features >= 1, "--features: expected 1 or more, got {}", o->features);
        if (*bare) o->features = 0;
        o->seed = seed;
        return make_planted_dataset(*o);
      }};
}

Spec houses() {
  struct Options {
    int64_t nodes = 300, degree = 5, houses = 80;
  };
  const auto o = std::make_shared<Options>();
  return {"ba-shapes",
          "houses attached to a Barabási-Albert graph, to be told by their nodes' roles (Ying et al. 2019); "
          "node names say which house and role",
          {{"nodes", &o->nodes, "N", "nodes of the base graph"},
           {"degree", &o->degree, "N", "edges of each new node of the base graph"},
           {"houses", &o->houses, "N", "houses of 5 nodes"}},
          [o](uint64_t seed) {
            Dataset data = make_motif_dataset(house_graph(o->nodes, o->degree, o->houses, seed), "house",
                                              {"base", "middle", "bottom", "top"}, seed);
            data.name = "ba-shapes";
            return data;
          }};
}

Spec tree_cycles() {
  struct Options {
    int64_t depth = 8, cycles = 60, length = 6;
  };
  const auto o = std::make_shared<Options>();
  return {"tree-cycles",
          "cycles attached to a balanced binary tree (Ying et al. 2019); node names say which cycle",
          {{"depth", &o->depth, "N", "edges from the root of the tree to a leaf"},
           {"cycles", &o->cycles, "N", "cycles"},
           {"length", &o->length, "N", "nodes of a cycle"}},
          [o](uint64_t seed) {
            Dataset data = make_motif_dataset(tree_cycle_graph(o->depth, o->cycles, o->length, seed), "cycle",
                                              {"tree", "cycle"}, seed);
            data.name = "tree-cycles";
            return data;
          }};
}

Spec mag() {
  const auto scale = std::make_shared<double>(1.0);
  return {"ogbn-mag",
          "a graph of several types with the counts of ogbn-mag",
          {{"scale", scale.get(), "X", "factor of all counts"}},
          {},
          [scale](uint64_t seed) { return make_mag_dataset(*scale, seed); }};
}

Spec tastes() {
  const auto o = std::make_shared<TasteOptions>();
  return {"tastes",
          "users and items with planted tastes, for recommendations",
          {{"users", &o->users, "N", "users"},
           {"items", &o->items, "N", "items"},
           {"tastes", &o->tastes, "N", "tastes, of as many users and items each"},
           {"interactions", &o->interactions, "N", "mean number of a user's items"},
           {"signal", &o->signal, "N", "share of items drawn from the user's taste, not from all"}},
          {},
          [o](uint64_t seed) {
            o->seed = seed;
            return make_taste_dataset(*o);
          }};
}

}  // namespace

std::vector<Spec> specs() {
  std::vector<Spec> all{
      citation(),
      planted(),
      tastes(),
      houses(),
      tree_cycles(),
      mag(),
      graph_spec<RMatOptions>("rmat", "a recursive matrix (R-MAT; Chakrabarti et al. 2004)"),
      graph_spec<PowerLawOptions>("power-law", "power-law in-degrees, or both degrees"),
      graph_spec<ErdosRenyiOptions>("erdos-renyi", "uniformly drawn distinct edges"),
      graph_spec<GridOptions>("grid", "a grid, thinned like a road network with --edges"),
      graph_spec<StarOptions>("star", "one node linked to all others")};
  for (const NamedGraph& graph : named_graphs()) all.push_back(preset(graph));
  return all;
}

}  // namespace adj::apps
