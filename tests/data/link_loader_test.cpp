#include "loader_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

using Pair = std::pair<int32_t, int32_t>;

Dataset small() {
  Dataset data = make_citation_dataset({.nodes = 200, .classes = 3, .features = 12, .val = 20, .test = 20});
  data.x = Features(data.x.to_dense());
  return data;
}

LinkLoaderOptions few(int workers = 0, uint64_t seed = 5) {
  return {.sampling = {.fanouts = {6, 5}},
          .negatives = 2,
          .loading = {.batch_size = 29, .shuffle = true, .seed = seed, .workers = workers}};
}

EdgeIndex pairs_of(const std::vector<int64_t>& src, const std::vector<int64_t>& dst) {
  return {Tensor::from(src), Tensor::from(dst)};
}

/// Pairs by the graph's numbers, in order; `nodes`: the node numbers of the ends.
std::vector<Pair> listed(const EdgeIndex& pairs, const Tensor& nodes = {}) {
  const auto numbers = [&](const Tensor& ends) {
    const Tensor index = ends.to(DType::i32);
    return (nodes ? detail::gather_edges(nodes, index) : index).to(DType::i32).to_vector<int32_t>();
  };
  const auto src = numbers(pairs.src), dst = numbers(pairs.dst);
  std::vector<Pair> all;
  for (size_t k = 0; k < src.size(); ++k) all.emplace_back(src[k], dst[k]);
  return all;
}
std::vector<Pair> pairs_of(const LinkBatch& batch) { return listed(batch.pairs, batch.nodes); }
std::vector<Pair> edges_of(const Block& block) {
  return listed(block.relation().edge_index(), block.src_nodes());
}

}  // namespace

TEST_CASE("an epoch has every pair once, and negatives that are not edges") {
  for (Device device : devices()) {
    const Dataset data = small().to(device);
    const EdgeIndex edge_index = linked_pairs(data.graph);
    const std::vector<Pair> linked = listed(data.graph.edge_index());
    const std::set<Pair> edges(linked.begin(), linked.end());
    const LinkLoader loader(data.graph, data.x, edge_index, few());
    const std::vector<LinkBatch> all = batches(loader, 0);
    CHECK(std::ssize(all) == loader.size());
    CHECK(loader.num_pairs() == edge_index.src.numel());
    std::vector<Pair> seen;
    std::set<Pair> drawn;
    for (const LinkBatch& batch : all) {
      REQUIRE(batch.blocks.size() == 2);
      CHECK(batch.label.device() == device);
      CHECK(batch.size() == 3 * batch.positives);
      CHECK(same_bits(batch.blocks.back().dst_nodes().to(DType::i32), batch.nodes));
      const auto nodes = batch.nodes.to_vector<int32_t>();
      CHECK(std::is_sorted(nodes.begin(), nodes.end()));
      CHECK(std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end());
      const std::vector<Pair> pairs = pairs_of(batch);
      std::set<int32_t> ends;
      const auto label = batch.label.to_vector<float>();
      for (size_t k = 0; k < pairs.size(); ++k) {
        const bool positive = static_cast<int64_t>(k) < batch.positives;
        REQUIRE(label[k] == (positive ? 1.0f : 0.0f));
        REQUIRE(edges.count(pairs[k]) == (positive ? 1 : 0));
        REQUIRE(pairs[k].first != pairs[k].second);
        if (positive) seen.push_back(pairs[k]);
        if (!positive) drawn.insert(pairs[k]);
        ends.insert({pairs[k].first, pairs[k].second});
      }
      CHECK(ends == std::set<int32_t>(nodes.begin(), nodes.end()));
      CHECK(has_rows(batch.x, data, batch.blocks.front().src_nodes()));
    }
    std::vector<Pair> wanted = listed(edge_index);
    CHECK(seen != wanted);
    std::sort(seen.begin(), seen.end());
    std::sort(wanted.begin(), wanted.end());
    CHECK(seen == wanted);
    CHECK(drawn.size() > wanted.size());  // others in each batch
  }
}

TEST_CASE("blocks lack the positive pairs and nothing else") {
  for (Device device : devices()) {
    const Dataset data = small().to(device);
    const EdgeIndex edge_index = linked_pairs(data.graph);
    const std::vector<Pair> by_number = listed(data.graph.edge_index());
    for (const std::vector<int64_t>& fanouts :
         {std::vector<int64_t>{-1}, std::vector<int64_t>{4, 3, 2}, std::vector<int64_t>{-1, -1}}) {
      LinkLoaderOptions options = few();
      options.sampling.fanouts = fanouts;
      const std::vector<LinkBatch> without = batches(LinkLoader(data.graph, data.x, edge_index, options), 1);
      options.exclude = false;
      const std::vector<LinkBatch> with = batches(LinkLoader(data.graph, data.x, edge_index, options), 1);
      REQUIRE(with.size() == without.size());
      int64_t taken_out = 0;
      for (size_t b = 0; b < with.size(); ++b) {
        std::set<Pair> hidden;
        const std::vector<Pair> pairs = pairs_of(without[b]);
        CHECK(pairs == pairs_of(with[b]));
        for (size_t k = 0; k < static_cast<size_t>(without[b].positives); ++k) {
          hidden.insert(pairs[k]);
          hidden.insert({pairs[k].second, pairs[k].first});
        }
        for (size_t l = 0; l < fanouts.size(); ++l) {
          std::vector<Pair> expected = edges_of(with[b].blocks[l]);
          const auto before = std::ssize(expected);
          std::erase_if(expected, [&](const Pair& edge) { return hidden.count(edge) != 0; });
          taken_out += before - std::ssize(expected);
          std::vector<Pair> found = edges_of(without[b].blocks[l]);
          const auto numbers = without[b].blocks[l].edge_ids().to_vector<int32_t>();
          REQUIRE(numbers.size() == found.size());
          for (size_t e = 0; e < found.size(); ++e)
            REQUIRE(by_number[static_cast<size_t>(numbers[e])] == found[e]);
          std::sort(expected.begin(), expected.end());
          std::sort(found.begin(), found.end());
          REQUIRE(found == expected);
          CHECK(same_bits(with[b].blocks[l].src_nodes(), without[b].blocks[l].src_nodes()));
        }
      }
      CHECK(taken_out > 100);
    }
  }
}

TEST_CASE("an epoch has the same batches for any workers, threads and devices, also after other epochs") {
  std::vector<LinkBatch> reference;
  for (Device device : devices()) {
    const Dataset data = small().to(device);
    const EdgeIndex edge_index = linked_pairs(data.graph);
    std::vector<LinkBatch> epoch = epoch_of_any_workers([&](int workers, uint64_t seed) {
      return LinkLoader(data.graph, data.x, edge_index, few(workers, seed));
    });
    for (LinkBatch& batch : epoch) batch = batch.to(Device::cpu());
    if (reference.empty()) reference = epoch;
    CHECK(same(epoch, reference));
  }
}

TEST_CASE("given pairs: in order, without drawn negatives") {
  const Dataset data = small();
  manual_seed(1);
  const LinkSplit split = random_link_split(data.graph, {.val = 0.3, .test = 0.1}, default_generator());
  LinkLoaderOptions options = few();
  options.loading.shuffle = false;
  const LinkLoader loader(split.train, data.x, split.val, options);
  const int64_t each = split.val.positive.src.numel();
  CHECK(loader.num_pairs() == 2 * each);
  std::vector<Pair> seen, wanted = listed(split.val.positive);
  const std::vector<Pair> apart = listed(split.val.negative);
  wanted.insert(wanted.end(), apart.begin(), apart.end());
  std::vector<float> labels;
  for (const LinkBatch& batch : loader.epoch(0)) {
    const std::vector<Pair> pairs = pairs_of(batch);
    seen.insert(seen.end(), pairs.begin(), pairs.end());
    const auto label = batch.label.to_vector<float>();
    labels.insert(labels.end(), label.begin(), label.end());
  }
  CHECK(seen == wanted);
  CHECK(std::count(labels.begin(), labels.end(), 1.0f) == each);
  CHECK(std::is_sorted(labels.rbegin(), labels.rend()));
  // Shuffled, a batch has some of both, still the positive ones first.
  options.loading.shuffle = true;
  const LinkBatch mixed = LinkLoader(split.train, data.x, split.val, options).batch(0, 0);
  CHECK((mixed.positives > 0 && mixed.positives < mixed.size()));
  CHECK(mixed.size() == 29);
}

TEST_CASE("positive pairs that are not edges are not drawn as negatives, in either direction") {
  // A path 0 - 1 - 2 - 3: with the pairs 0 - 2 and 1 - 3, only 0 - 3 is left.
  const Graph path = Graph::from_coo(4, Tensor::from(std::vector<int32_t>{0, 1, 1, 2, 2, 3}),
                                     Tensor::from(std::vector<int32_t>{1, 0, 2, 1, 3, 2}));
  LinkLoaderOptions options = few();
  options.negatives = 50;
  const Features x(Tensor::zeros({4, 2}));
  const LinkBatch batch = LinkLoader(path, x, pairs_of({0, 1}, {2, 3}), options).batch(0, 0);
  CHECK(batch.size() == 102);
  std::map<Pair, int> counts;
  for (const Pair& pair : pairs_of(batch)) ++counts[pair];
  CHECK(counts.size() == 4);
  CHECK(counts[{0, 3}] + counts[{3, 0}] == 100);
  CHECK(counts[{0, 3}] > 20);
  CHECK(counts[{3, 0}] > 20);
}

TEST_CASE("parallel edges and self-loops of the graph; pairs given twice") {
  const Graph graph = Graph::from_coo(5, Tensor::from(std::vector<int32_t>{0, 0, 1, 2, 2, 3}),
                                      Tensor::from(std::vector<int32_t>{1, 1, 0, 2, 0, 0}));
  LinkLoaderOptions options = few();
  options.sampling.fanouts = {-1};
  options.loading.shuffle = false;
  const Features x(Tensor::zeros({5, 2}));
  const LinkBatch batch = LinkLoader(graph, x, pairs_of({0, 0}, {1, 1}), options).batch(0, 0);
  CHECK(batch.positives == 2);
  for (const Pair& edge : edges_of(batch.blocks[0])) {
    CHECK(edge != Pair{0, 1});
    CHECK(edge != Pair{1, 0});
  }
  const std::vector<Pair> pairs = pairs_of(batch);
  CHECK(pairs[0] == pairs[1]);
}

TEST_CASE("errors of the link loader") {
  const Dataset data = small();
  const auto refused = [&](const EdgeIndex& pairs, const char* message,
                           const LinkLoaderOptions& options = few()) {
    CHECK_ERROR_HAS(LinkLoader(data.graph, data.x, pairs, options), message);
  };
  refused({}, "no positive pairs");
  refused({Tensor::zeros({3}), Tensor::zeros({3})}, "src of the positive pairs are");
  refused(pairs_of({1, 2}, {3}), "dst of the positive pairs are");
  refused({Tensor::zeros({2}, DType::i32), {}}, "dst of the positive pairs are");
  refused(pairs_of({1, 200}, {3, 4}), "src[1] of the positive pairs is 200, expected 0 to 199");
  refused(pairs_of({1, 2}, {-1, 4}), "dst[0] of the positive pairs is -1");
  refused(pairs_of({int64_t{1} << 32}, {4}), "src[0] of the positive pairs is 4294967296");
  refused(pairs_of({1, 7}, {3, 7}), "pair 1 of the positive ones is node 7 with itself");
  const LinkExamples apart{pairs_of({1}, {2}), pairs_of({9, 5}, {8, 5})};
  CHECK_ERROR_HAS(LinkLoader(data.graph, data.x, apart, few()),
                  "pair 1 of the other ones is node 5 with itself");
  const auto with = [](auto&& change) {
    LinkLoaderOptions options = few();
    change(options);
    return options;
  };
  const EdgeIndex one = pairs_of({1}, {2});
  check_options_refused("link", [&](const LoaderOptions& options) {
    return LinkLoader(data.graph, data.x, one, with([&](auto& o) { o.loading = options; }));
  });
  refused(one, "-1 negatives", with([](auto& o) { o.negatives = -1; }));
  refused(one, "negatives per pair", with([](auto& o) { o.negatives = int64_t{1} << 60; }));
  refused(one, "nothing is left of 1 pairs", with([](auto& o) { o.loading.drop_last = true; }));
  refused(one, "fan-out", with([](auto& o) { o.sampling.fanouts = {}; }));
  const Features fewer(Tensor::zeros({199, 2}));
  CHECK_ERROR_HAS(LinkLoader(data.graph, fewer, one, few()), "features of 199 nodes");
  // Complete: no pair is left to draw; with given negatives, or none wanted, no pair is needed.
  const Graph triangle = Graph::from_coo(3, Tensor::from(std::vector<int32_t>{0, 1, 1, 2, 2, 0}),
                                         Tensor::from(std::vector<int32_t>{1, 0, 2, 1, 0, 2}));
  const Features x(Tensor::zeros({3, 2}));
  CHECK_ERROR_HAS(LinkLoader(triangle, x, pairs_of({0}, {1}), few()), "only 0 have no edge");
  LinkLoaderOptions none = few();
  none.negatives = 0;
  CHECK(LinkLoader(triangle, x, pairs_of({0}, {1}), none).batch(0, 0).size() == 1);
  CHECK(LinkLoader(triangle, x, {pairs_of({0}, {1}), pairs_of({0}, {2})}, few()).batch(0, 0).size() == 2);
  // Without edges: nothing to exclude, and nothing to sample.
  const Tensor empty = Tensor::empty({0}, DType::i32);
  const Graph bare = Graph::from_coo(3, empty, empty);
  CHECK(LinkLoader(bare, x, pairs_of({0}, {1}), few()).batch(0, 0).blocks.front().num_edges() == 0);
  CHECK(LinkLoader(bare, x, linked_pairs(bare), few()).size() == 0);
  CHECK(batches(LinkLoader(bare, x, EdgeIndex{empty, empty}, few(2)), 0).empty());
}
