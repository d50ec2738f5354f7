#include <adjoint/core/random.h>
#include <adjoint/data/generators.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

namespace adj {

namespace {

constexpr double kDegreeExponent = 2.7;              // exponent of the power law of expected degrees
constexpr double kLargestDegree = 40.0;              // over the smallest
constexpr double kZipf = 1.0;                        // exponent of word frequencies
constexpr double kClassVocabulary = 0.1;             // fraction of the vocabulary that a class prefers
constexpr uint64_t kWordVectors = 0x766563746f7273;  // generator key for the word vectors
constexpr int64_t kAttemptsPerEdge = 200;
constexpr int kTriesForOtherClass = 100;

/// Sequential numbers of one Philox stream.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Uniform in [0, 1), 53 bits.
  double uniform() {
    if (left_ == 0) {
      block_ = philox(seed_, stream_, next_++);
      left_ = 2;
    }
    --left_;
    const uint64_t high = block_.word[2 * left_], low = block_.word[2 * left_ + 1];
    return static_cast<double>(((high << 32) | low) >> 11) * 0x1.0p-53;
  }
  int64_t below(int64_t n) {
    return std::min(static_cast<int64_t>(uniform() * static_cast<double>(n)), n - 1);
  }

 private:
  uint64_t seed_, stream_, next_ = 0;
  PhiloxBlock block_{};
  int left_ = 0;
};

/// Draws items with probability proportional to their weights.
class Weighted {
 public:
  void add(int64_t item, double weight) {
    items_.push_back(item);
    sums_.push_back((sums_.empty() ? 0.0 : sums_.back()) + weight);
  }
  bool empty() const { return items_.empty(); }
  double total() const { return sums_.empty() ? 0.0 : sums_.back(); }
  int64_t draw(Draws& draws) const {
    const double point = draws.uniform() * total();
    const auto k = std::upper_bound(sums_.begin(), sums_.end(), point) - sums_.begin();
    return items_[std::min(static_cast<size_t>(k), items_.size() - 1)];
  }

 private:
  std::vector<int64_t> items_;
  std::vector<double> sums_;
};

void check(const CitationOptions& o) {
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  ADJ_CHECK(o.nodes >= 1 && o.nodes < kLimit && o.features >= 1 && o.features < kLimit,
            "citation dataset: {} nodes and {} features, expected 1 to {}", o.nodes, o.features, kLimit - 1);
  const auto up_to_nodes = [&](int64_t least, int64_t value) { return value >= least && value <= o.nodes; };
  ADJ_CHECK(up_to_nodes(2, o.classes) && up_to_nodes(1, o.train_per_class) && up_to_nodes(1, o.val) &&
                up_to_nodes(1, o.test),
            "citation dataset: {} classes, {} training nodes per class, {} for validation, {} for test; "
            "expected 2 or more classes and 1 or more of the others, up to the {} nodes",
            o.classes, o.train_per_class, o.val, o.test, o.nodes);
  // A class gets at least half of an equal share.
  ADJ_CHECK(o.nodes / 2 >= o.classes * o.train_per_class &&
                o.nodes >= o.classes * o.train_per_class + o.val + o.test,
            "citation dataset: {} nodes are too few for {} x {} + {} + {} nodes in the split", o.nodes,
            o.classes, o.train_per_class, o.val, o.test);
  ADJ_CHECK(o.degree >= 0.0 && o.degree <= 0.1 * static_cast<double>(o.nodes) &&
                o.degree * static_cast<double>(o.nodes) < static_cast<double>(kLimit),
            "citation dataset: degree {}, expected 0 to a tenth of the nodes, and fewer than 2^31 edges",
            o.degree);
  ADJ_CHECK(o.homophily >= 0.0 && o.homophily <= 1.0 && o.signal >= 0.0 && o.signal <= 1.0,
            "citation dataset: homophily {} and signal {}, expected 0 to 1", o.homophily, o.signal);
  ADJ_CHECK(o.words >= 1.0 && o.words <= 1e6, "citation dataset: {} words per node, expected 1 to 1000000",
            o.words);
  ADJ_CHECK(o.word_vectors >= 0 && o.word_vectors < kLimit,
            "citation dataset: words' vectors of {} numbers, expected 0 to {}", o.word_vectors, kLimit - 1);
}

/// Classes of unequal size: shares decrease linearly, the largest three times the smallest.
std::vector<int32_t> draw_classes(const CitationOptions& o) {
  Weighted shares;
  for (int64_t c = 0; c < o.classes; ++c)
    shares.add(c, 3.0 - 2.0 * static_cast<double>(c) / static_cast<double>(o.classes - 1));
  Draws draws(o.seed, 0);
  std::vector<int32_t> classes(static_cast<size_t>(o.nodes));
  for (int32_t& c : classes) c = static_cast<int32_t>(shares.draw(draws));
  return classes;
}

Graph draw_edges(const CitationOptions& o, const std::vector<int32_t>& classes) {
  Draws draws(o.seed, 1);
  Weighted all;
  std::vector<Weighted> class_nodes(static_cast<size_t>(o.classes));
  for (int64_t i = 0; i < o.nodes; ++i) {
    const double weight =
        std::min(std::pow(1.0 - draws.uniform(), -1.0 / (kDegreeExponent - 1.0)), kLargestDegree);
    all.add(i, weight);
    class_nodes[static_cast<size_t>(classes[static_cast<size_t>(i)])].add(i, weight);
  }
  const auto wanted = static_cast<int64_t>(std::llround(o.degree * static_cast<double>(o.nodes) / 2.0));
  std::unordered_set<uint64_t> seen;
  std::vector<int32_t> src, dst;
  std::vector<bool> linked(static_cast<size_t>(o.nodes), false);
  // Each node has at least one edge; the remaining edges follow the expected degrees.
  int64_t first = 0;
  for (int64_t attempts = kAttemptsPerEdge * wanted; static_cast<int64_t>(seen.size()) < wanted; --attempts) {
    ADJ_CHECK(attempts > 0, "citation dataset: no room for {} edges among {} nodes", wanted, o.nodes);
    while (first < o.nodes && linked[static_cast<size_t>(first)]) ++first;
    const int64_t a = first < o.nodes ? first : all.draw(draws);
    const int32_t class_a = classes[static_cast<size_t>(a)];
    const bool same = draws.uniform() < o.homophily;
    int64_t b = same ? class_nodes[static_cast<size_t>(class_a)].draw(draws) : all.draw(draws);
    for (int tries = 0; !same && classes[static_cast<size_t>(b)] == class_a && tries < kTriesForOtherClass;
         ++tries)
      b = all.draw(draws);
    if (a == b) continue;
    const auto low = static_cast<uint64_t>(std::min(a, b)), high = static_cast<uint64_t>(std::max(a, b));
    if (!seen.insert(low << 32 | high).second) continue;
    linked[static_cast<size_t>(a)] = linked[static_cast<size_t>(b)] = true;
    src.insert(src.end(), {static_cast<int32_t>(a), static_cast<int32_t>(b)});
    dst.insert(dst.end(), {static_cast<int32_t>(b), static_cast<int32_t>(a)});
  }
  // Without input_order, which a file would keep.
  return Graph(Graph::from_coo(o.nodes, Tensor::from(src), Tensor::from(dst)).relation());
}

/// Words by decreasing frequency: another shuffle of the vocabulary for each class.
Weighted class_words(const CitationOptions& o, uint64_t stream, int64_t count) {
  std::vector<int64_t> words(static_cast<size_t>(o.features));
  std::iota(words.begin(), words.end(), 0);
  Draws draws(o.seed, stream);
  Weighted weighted;
  for (int64_t k = 0; k < count; ++k) {
    std::swap(words[static_cast<size_t>(k)], words[static_cast<size_t>(k + draws.below(o.features - k))]);
    weighted.add(words[static_cast<size_t>(k)], std::pow(static_cast<double>(k + 1), -kZipf));
  }
  return weighted;
}

SparseMatrix draw_features(const CitationOptions& o, const std::vector<int32_t>& classes) {
  const auto topic_size =
      std::max<int64_t>(1, std::llround(kClassVocabulary * static_cast<double>(o.features)));
  const Weighted common = class_words(o, 3, o.features);
  std::vector<Weighted> topics;
  for (int64_t c = 0; c < o.classes; ++c)
    topics.push_back(class_words(o, static_cast<uint64_t>(4 + c), topic_size));
  Draws draws(o.seed, 2);
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices, row;
  for (int32_t c : classes) {
    // Between a half and one and a half times the mean.
    const auto words = std::max<int64_t>(1, std::llround(o.words * (0.5 + draws.uniform())));
    row.clear();
    for (int64_t k = 0; k < words; ++k)
      row.push_back(static_cast<int32_t>(
          draws.uniform() < o.signal ? topics[static_cast<size_t>(c)].draw(draws) : common.draw(draws)));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    indices.insert(indices.end(), row.begin(), row.end());
    offsets.push_back(static_cast<int64_t>(indices.size()));
  }
  return SparseMatrix::from_csr(o.nodes, o.features, offsets, indices,
                                std::vector<float>(indices.size(), 1.0f));
}

/// [N, o.word_vectors]: mean of the vectors of each row's words.
Tensor mean_word_vectors(const CitationOptions& o, const SparseMatrix& words) {
  Generator generator = Generator(o.seed).split(kWordVectors);
  const auto vectors =
      random_normal({o.features, o.word_vectors}, 0.0, 1.0, generator, DType::f64).to_vector<double>();
  const Csr& rows = words.relation().csr();
  const auto offsets = rows.offsets.to_vector<int64_t>();
  const auto indices = rows.indices.to_vector<int32_t>();
  const auto width = static_cast<size_t>(o.word_vectors);
  std::vector<float> means;
  std::vector<double> sum(width);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (auto e = static_cast<size_t>(offsets[i]); e < static_cast<size_t>(offsets[i + 1]); ++e)
      for (size_t k = 0; k < width; ++k) sum[k] += vectors[static_cast<size_t>(indices[e]) * width + k];
    for (const double all : sum)
      means.push_back(static_cast<float>(all / static_cast<double>(offsets[i + 1] - offsets[i])));
  }
  return Tensor::from(means).reshape({o.nodes, o.word_vectors});
}

/// By ascending index, which is independent of the classes: the first of each class, then the next nodes,
/// then the last.
Split make_split(const CitationOptions& o, const std::vector<int32_t>& classes) {
  std::vector<int64_t> taken(static_cast<size_t>(o.classes), 0);
  std::vector<int32_t> train, rest;
  for (int32_t i = 0; i < o.nodes; ++i) {
    int64_t& count = taken[static_cast<size_t>(classes[static_cast<size_t>(i)])];
    (count++ < o.train_per_class ? train : rest).push_back(i);
  }
  for (int64_t c = 0; c < o.classes; ++c)
    ADJ_CHECK(taken[static_cast<size_t>(c)] >= o.train_per_class,
              "citation dataset: class {} has {} nodes, expected at least {}", c,
              taken[static_cast<size_t>(c)], o.train_per_class);
  return {Tensor::from(train), Tensor::from(std::vector<int32_t>(rest.begin(), rest.begin() + o.val)),
          Tensor::from(std::vector<int32_t>(rest.end() - o.test, rest.end()))};
}

}  // namespace

Dataset make_citation_dataset(const CitationOptions& options) {
  check(options);
  const std::vector<int32_t> classes = draw_classes(options);
  Dataset data;
  data.name = "citation";
  data.task = Task::node_class;
  data.undirected = true;
  data.classes = options.classes;
  data.graph = draw_edges(options, classes);
  const SparseMatrix words = draw_features(options, classes);
  data.x = options.word_vectors > 0 ? Features(mean_word_vectors(options, words)) : Features(words);
  data.y = Tensor::from(classes);
  data.splits = {make_split(options, classes)};
  data.use_split(0);
  return data;
}

}  // namespace adj
