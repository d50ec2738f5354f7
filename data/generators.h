#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/generate/generators.h>

namespace adj {

/// Options of make_citation_dataset(). The defaults match Cora's size and difficulty. All `nodes` have one of
/// the `classes`; the first `train_per_class` of each train, the next `val` validate, the last `test` test.
/// `seed` is that of all draws.
struct CitationOptions {
  int64_t nodes = 2800;
  int64_t classes = 7;
  int64_t features = 1000;   ///< vocabulary size
  double degree = 4.0;       ///< mean number of neighbours
  double homophily = 0.72;   ///< fraction of edges within a class
  double words = 18.0;       ///< mean number of words drawn per node
  double signal = 0.15;      ///< fraction of words drawn from the class's own distribution
  int64_t word_vectors = 0;  ///< width of dense features, means of word vectors; 0: bags of words
  int64_t train_per_class = 20;
  int64_t val = 500;
  int64_t test = 1000;
  uint64_t seed = 1;
};

/// A synthetic citation graph: a degree-corrected planted partition (Karrer & Newman 2011) with one block per
/// class and power-law expected degrees, undirected, without self-loops or parallel edges. Features are
/// binary bags of words, sparse, each word drawn from the class's distribution or, as noise, from one shared
/// by all classes (both Zipf), or dense: the mean of these words' vectors, as for ogbn-arxiv (Hu et al.
/// 2020), here standard normal. The split is as in Planetoid (Yang et al. 2016). The same options give the
/// same bits. Throws adj::Error for contradictory options.
Dataset make_citation_dataset(const CitationOptions& options);

/// Options of make_planted_dataset(). The `nodes` are in `classes` whose sizes differ by at most one; `seed`
/// is that of all draws.
struct PlantedOptions {
  int64_t nodes = 100000;
  int64_t classes = 10;
  int64_t features = 64;   ///< 0: none
  double degree = 10.0;    ///< mean number of neighbours
  double homophily = 0.8;  ///< fraction of edges within a class
  double signal = 1.0;     ///< distance of a class mean from 0, in standard deviations of the noise
  uint64_t seed = 1;
};

/// Like make_citation_dataset(), at any size and in parallel: planted_partition() with one block per class,
/// and features [N, F]: the class mean, normal with variance signal^2 / F per column, plus standard normal
/// noise (contextual stochastic block model; Deshpande et al. 2018); a random split into 60, 20 and 20 % of
/// the nodes. Throws adj::Error for options that are out of range or contradictory, and for fewer than 5
/// nodes.
Dataset make_planted_dataset(const PlantedOptions& options);

/// A graph of motifs to learn each node's role, for explanations with a known answer: an edge matters for the
/// role of a node in a motif if it is in the same one. One constant feature, as the structure says all; a
/// random split into 60, 20 and 20 % of the nodes; nodes are named by the names of `motif` and `roles`, the
/// base's first, such as "base_12" and "house_3_bottom_1": the second of its role in motif 3.
Dataset make_motif_dataset(MotifGraph graph, const std::string& motif, const std::vector<std::string>& roles,
                           uint64_t seed);

/// A dataset for speed and memory benchmarks, with nothing to learn: dense normal features [N, features],
/// uniform classes, and a random split into 60, 20 and 20 % of the nodes. Throws adj::Error for fewer than 5
/// nodes.
Dataset make_random_dataset(EdgeList edges, int64_t features, int64_t classes, uint64_t seed);

/// The graph only: no features, labels or split; task none.
Dataset make_bare_dataset(EdgeList edges);

}  // namespace adj
