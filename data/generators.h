#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/generate/generators.h>

namespace adj {

/// What make_citation_dataset() draws. The defaults give a dataset of Cora's size and difficulty.
struct CitationOptions {
  int64_t nodes = 2800;
  int64_t classes = 7;
  int64_t features = 1000;   ///< words in the vocabulary
  double degree = 4.0;       ///< mean number of neighbours
  double homophily = 0.72;   ///< share of edges within a class
  double words = 18.0;       ///< mean number of words drawn for a node
  double signal = 0.15;      ///< share of words drawn from the class's own distribution
  int64_t word_vectors = 0;  ///< columns of dense features, means of words' vectors; 0: bags of words
  int64_t train_per_class = 20;
  int64_t val = 500;
  int64_t test = 1000;
  uint64_t seed = 1;
};

/// A citation-like graph: a degree-corrected planted partition (Karrer & Newman 2011) with one block a class,
/// expected degrees by a power law, undirected, without self-loops or parallel edges; binary bag-of-words
/// features, sparse, each word drawn from the class's distribution or, as noise, from one that all classes
/// share (both by Zipf's law), or dense ones, as ogbn-arxiv's (Hu et al. 2020) the mean of the vectors of
/// these words, which are standard normal here; and a split as in Planetoid (Yang et al. 2016). The same
/// options give the same bits. Throws adj::Error where the options contradict each other.
Dataset make_citation_dataset(const CitationOptions& options);

/// What make_planted_dataset() draws.
struct PlantedOptions {
  int64_t nodes = 100000;
  int64_t classes = 10;
  int64_t features = 64;   ///< 0: none
  double degree = 10.0;    ///< mean number of neighbours
  double homophily = 0.8;  ///< share of edges within a class
  double signal = 1.0;     ///< distance of a class's mean from 0, in units of the noise's deviation
  uint64_t seed = 1;
};

/// As make_citation_dataset(), at any size and in parallel: planted_partition() with one block a class, and
/// features [N, F] that are the class's mean, normal with variance signal^2 / F in each column, and standard
/// normal noise (contextual stochastic block model; Deshpande et al. 2018); a random split into 60, 20 and
/// 20 % of the nodes. Throws adj::Error where options are out of range or contradict each other, and for
/// fewer than 5 nodes.
Dataset make_planted_dataset(const PlantedOptions& options);

/// A dataset to measure speed and memory with, in which there is nothing to learn: dense normal features [N,
/// features], uniform classes, and a random split into 60, 20 and 20 % of the nodes. Throws adj::Error for
/// fewer than 5 nodes.
Dataset make_random_dataset(EdgeList edges, int64_t features, int64_t classes, uint64_t seed);

/// The graph alone: no features, labels or split, of the task none.
Dataset make_bare_dataset(EdgeList edges);

}  // namespace adj
