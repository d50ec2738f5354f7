#include "dataset_parts.h"

using namespace adj;
using namespace adj::test;

namespace {

double homophily_of(const Dataset& d) {
  const auto y = d.y.to_vector<int32_t>();
  const auto offsets = d.graph.in_edges().offsets.to_vector<int64_t>();
  const auto sources = d.graph.in_edges().indices.to_vector<int32_t>();
  int64_t matches = 0;
  for (size_t i = 0; i < y.size(); ++i)
    for (auto e = static_cast<size_t>(offsets[i]); e < static_cast<size_t>(offsets[i + 1]); ++e)
      matches += y[static_cast<size_t>(sources[e])] == y[i];
  return static_cast<double>(matches) / static_cast<double>(d.graph.num_edges());
}

}  // namespace

TEST_CASE("a citation dataset has the requested properties") {
  for (const auto& [nodes, classes, degree, homophily] :
       {std::tuple{2800, 7, 4.0, 0.72}, {3000, 2, 10.0, 0.5}, {2500, 12, 3.0, 0.95}, {2000, 3, 0.0, 0.7}}) {
    CitationOptions options{.nodes = nodes, .classes = classes, .degree = degree, .homophily = homophily};
    const Dataset d = make_citation_dataset(options);
    CAPTURE(nodes);
    CHECK(d.num_nodes() == nodes);
    CHECK(d.num_classes() == classes);
    CHECK(d.graph.num_edges() == std::llround(nodes * degree));
    CHECK(d.graph.is_symmetric());
    CHECK(!d.graph.has_self_loops());
    CHECK(coalesce(d.graph).num_edges() == d.graph.num_edges());
    if (degree > 0.0) {
      CHECK(homophily_of(d) == doctest::Approx(homophily).epsilon(0.05));
      const auto degrees = values(d.graph.in_degrees());
      CHECK(*std::min_element(degrees.begin(), degrees.end()) >= 1.0);
      CHECK(*std::max_element(degrees.begin(), degrees.end()) > 4.0 * degree);  // skewed
    }
    CHECK(static_cast<double>(d.x.sparse().entries()) / nodes == doctest::Approx(options.words).epsilon(0.2));
    for (double v : values(d.x.sparse().values())) REQUIRE(v == 1.0);

    const auto y = d.y.to_vector<int32_t>();
    std::vector<int64_t> count(static_cast<size_t>(classes), 0);
    std::set<int32_t> seen;
    for (int32_t i : d.train.to_vector<int32_t>()) {
      ++count[static_cast<size_t>(y[static_cast<size_t>(i)])];
      seen.insert(i);
    }
    for (int64_t n : count) CHECK(n == 20);
    for (const Tensor& part : {d.val, d.test})
      for (int32_t i : part.to_vector<int32_t>()) CHECK(seen.insert(i).second);
    CHECK(seen.size() == static_cast<size_t>(20 * classes + 1500));
  }
}

TEST_CASE("words depend on the class, more so with more signal") {
  // Share of word pairs of a class that agree, over that of all pairs.
  const auto lift = [](double signal) {
    const Dataset d = make_citation_dataset({.signal = signal});
    const auto y = d.y.to_vector<int32_t>();
    const auto offsets = d.x.sparse().relation().csr().offsets.to_vector<int64_t>();
    const auto words = d.x.sparse().relation().csr().indices.to_vector<int32_t>();
    std::vector<double> total(1000, 0.0), sums(7, 0.0);
    std::vector<std::vector<double>> by_class(7, std::vector<double>(1000, 0.0));
    for (size_t i = 0; i < y.size(); ++i)
      for (auto e = static_cast<size_t>(offsets[i]); e < static_cast<size_t>(offsets[i + 1]); ++e) {
        const auto w = static_cast<size_t>(words[e]), c = static_cast<size_t>(y[i]);
        total[w] += 1.0;
        by_class[c][w] += 1.0;
        sums[c] += 1.0;
      }
    double all = 0.0, squares = 0.0, class_squares = 0.0;
    for (double t : total) {
      all += t;
      squares += t * t;
    }
    for (size_t c = 0; c < 7; ++c)
      for (double t : by_class[c]) class_squares += t * t / (sums[c] * sums[c]) / 7.0;
    return class_squares / (squares / (all * all));
  };
  const double none = lift(0.0), some = lift(0.15), much = lift(0.6);
  CHECK(none < 1.1);
  CHECK(some > 1.1);
  CHECK(much > 2.0 * some);
}

TEST_CASE("dense features of a citation dataset are means of normal word vectors") {
  constexpr int64_t kNumbers = 500;
  CitationOptions options{.features = 4, .words = 2.0};
  const Dataset bags = make_citation_dataset(options);
  options.word_vectors = kNumbers;
  const Dataset dense = make_citation_dataset(options);
  CHECK(same_bits(bags.y, dense.y));
  CHECK(same_bits(bags.train, dense.train));
  CHECK(same_bits(bags.graph.in_edges().indices, dense.graph.in_edges().indices));
  REQUIRE(dense.x.dense().shape() == Shape{options.nodes, kNumbers});
  const auto offsets = bags.x.sparse().relation().csr().offsets.to_vector<int64_t>();
  const auto words = bags.x.sparse().relation().csr().indices.to_vector<int32_t>();
  const auto row = [&](int64_t i) { return values(dense.x.dense().rows(i, i + 1)); };
  std::vector<std::vector<double>> vectors(4);
  const auto first = [&](int64_t i) { return static_cast<size_t>(offsets[static_cast<size_t>(i)]); };
  for (int64_t i = 0; i < options.nodes; ++i)
    if (first(i + 1) - first(i) == 1) vectors[static_cast<size_t>(words[first(i)])] = row(i);
  for (const std::vector<double>& vector : vectors) {
    REQUIRE(vector.size() == static_cast<size_t>(kNumbers));
    double sum = 0.0, squares = 0.0;
    for (const double x : vector) sum += x, squares += x * x;
    CHECK(std::abs(sum / kNumbers) < 0.2);
    CHECK(squares / kNumbers == doctest::Approx(1.0).epsilon(0.3));
  }
  for (int64_t i = 0; i < options.nodes; i += 17) {
    const std::vector<double> got = row(i);
    for (size_t k = 0; k < got.size(); k += 50) {
      double sum = 0.0;
      for (size_t e = first(i); e < first(i + 1); ++e) sum += vectors[static_cast<size_t>(words[e])][k];
      CHECK(got[k] == doctest::Approx(sum / static_cast<double>(first(i + 1) - first(i))).epsilon(1e-5));
    }
  }
}

TEST_CASE("the same seed gives the same bits on any number of threads") {
  CitationOptions options;
  const Dataset first = make_citation_dataset(options);
  for (int threads : {1, 4}) {
    const Threads scope(threads);
    check_same(first, make_citation_dataset(options));
  }
  options.seed = 2;
  const Dataset other = make_citation_dataset(options);
  CHECK(!same_bits(first.y, other.y));
  CHECK(!same_bits(first.x.sparse().relation().csr().offsets, other.x.sparse().relation().csr().offsets));
}

TEST_CASE("the demo dataset is the one that the generator makes by default") {
  Dataset dataset = make_citation_dataset({});
  dataset.name = "demo";
  check_same(load_demo_dataset(), dataset);
}

TEST_CASE("contradictory options are refused") {
  const auto refused = [](auto change) {
    CitationOptions options;
    change(options);
    CHECK_THROWS_AS((void)make_citation_dataset(options), Error);
  };
  refused([](CitationOptions& o) { o.classes = 1; });
  refused([](CitationOptions& o) { o.nodes = 1000; });
  refused([](CitationOptions& o) { o.nodes = -5; });
  refused([](CitationOptions& o) { o.train_per_class = 300; });
  refused([](CitationOptions& o) { o.train_per_class = 0; });
  refused([](CitationOptions& o) { o.val = 0; });
  refused([](CitationOptions& o) { o.degree = -1.0; });
  refused([](CitationOptions& o) { o.degree = 2000.0; });
  refused([](CitationOptions& o) { o.homophily = 1.5; });
  refused([](CitationOptions& o) { o.signal = -0.1; });
  refused([](CitationOptions& o) { o.words = 0.0; });
  refused([](CitationOptions& o) { o.features = 0; });
}

TEST_CASE("a random dataset has every node in one part of its split, and the same bits for the same seed") {
  const EdgeList edges = power_law_graph(1003, 5000, {}, 3);
  const Dataset a = make_random_dataset(edges, 7, 4, 3), b = make_random_dataset(edges, 7, 4, 3);
  CHECK(a.num_nodes() == 1003);
  CHECK(a.graph.num_edges() == 5000);
  CHECK(a.num_features() == 7);
  CHECK(a.num_classes() == 4);
  std::vector<int32_t> all;
  for (const Tensor& part : {a.train, a.val, a.test})
    for (int32_t i : part.to_vector<int32_t>()) all.push_back(i);
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 1003);
  for (size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == static_cast<int32_t>(i));
  CHECK(a.val.numel() == 200);
  std::vector<int> count(4, 0);
  for (int32_t c : a.y.to_vector<int32_t>()) ++count.at(static_cast<size_t>(c));
  CHECK(*std::min_element(count.begin(), count.end()) > 180);
  CHECK(same_bits(a.x.dense(), b.x.dense()));
  CHECK(same_bits(a.train, b.train));
  CHECK(!same_bits(a.train, make_random_dataset(edges, 7, 4, 4).train));
  CHECK_THROWS_AS((void)make_random_dataset({4, {}, {}}, 7, 4, 1), Error);
  CHECK_THROWS_AS((void)make_random_dataset(edges, 0, 4, 1), Error);

  const Dataset bare = make_bare_dataset(edges);
  CHECK(bare.graph.num_edges() == 5000);
  CHECK(bare.task == Task::none);
  CHECK((!bare.x && !bare.y && bare.splits.empty() && !bare.undirected));
  CHECK(make_bare_dataset(symmetric(edges)).undirected);
}

TEST_CASE("features of a planted dataset depend on the class, more so with more signal") {
  // Mean squared distance of the classes' means from 0; pure noise leaves features / nodes of a class.
  const auto signal_of = [](double signal) {
    const Dataset d = make_planted_dataset({.nodes = 4000, .classes = 4, .features = 32, .signal = signal});
    const auto x = values(d.x.dense());
    const auto y = d.y.to_vector<int32_t>();
    std::vector<double> mean(4 * 32, 0.0);
    for (size_t i = 0; i < x.size(); ++i) mean[static_cast<size_t>(y[i / 32]) * 32 + i % 32] += x[i] / 1000.0;
    double squares = 0.0;
    for (double m : mean) squares += m * m / 4.0;
    return squares;
  };
  CHECK(signal_of(0.0) < 0.05);
  CHECK(signal_of(1.0) == doctest::Approx(1.0).epsilon(0.3));
  CHECK(signal_of(3.0) == doctest::Approx(9.0).epsilon(0.3));

  const PlantedOptions options{.nodes = 20000, .classes = 5, .features = 3, .degree = 12.0, .homophily = 0.7};
  const Dataset d = make_planted_dataset(options);
  CHECK(d.graph.num_edges() == 240000);
  CHECK(d.undirected);
  CHECK(d.graph.is_symmetric());
  CHECK(homophily_of(d) == doctest::Approx(0.7).epsilon(0.001));
  CHECK(d.train.numel() == 12000);
  CHECK(d.test.numel() == 4000);
  const Threads scope(1);
  const Dataset again = make_planted_dataset(options);
  CHECK(same_bits(d.graph.in_edges().indices, again.graph.in_edges().indices));
  CHECK(same_bits(d.x.dense(), again.x.dense()));
  CHECK(same_bits(d.y, again.y));
  CHECK(same_bits(d.train, again.train));
  CHECK(!make_planted_dataset({.nodes = 1000, .features = 0}).x);
  CHECK_THROWS_AS((void)make_planted_dataset({.nodes = 4}), Error);
  CHECK_THROWS_AS((void)make_planted_dataset({.features = -1}), Error);
  CHECK_THROWS_AS((void)make_planted_dataset({.signal = std::nan("")}), Error);
}
