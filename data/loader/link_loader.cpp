#include <adjoint/core/random.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/detail/batching.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/kernels/index/renumber.h>
#include <adjoint/kernels/index/select.h>

#include <algorithm>
#include <limits>

namespace adj {

namespace {

constexpr std::string_view kName = "link loader";

using Ids = std::vector<int32_t>;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 4;  // pairs of a batch

/// Pairs in the host's memory.
struct Pairs {
  Ids src, dst;
  int64_t size() const { return std::ssize(src); }
  void add(const Pairs& others) {
    src.insert(src.end(), others.src.begin(), others.src.end());
    dst.insert(dst.end(), others.dst.begin(), others.dst.end());
  }
};

/// Throws unless all are pairs of different nodes.
Pairs checked_pairs(const char* which, const EdgeIndex& pairs, int64_t nodes) {
  const auto ids = [&](const char* side, const Tensor& of) {
    ADJ_CHECK(of && of.dims() == 1 && (of.dtype() == DType::i32 || of.dtype() == DType::i64) &&
                  of.numel() == pairs.src.numel(),
              "link loader: {} of the {} pairs are {}, expected [P] int32 or int64, as many on either side",
              side, which, of.str());
    const auto wide = of.to(Device::cpu()).to(DType::i64).to_vector<int64_t>();
    for (size_t k = 0; k < wide.size(); ++k)
      ADJ_CHECK(wide[k] >= 0 && wide[k] < nodes,
                "link loader: {}[{}] of the {} pairs is {}, expected 0 to {}", side, k, which, wide[k],
                nodes - 1);
    return Ids(wide.begin(), wide.end());
  };
  ADJ_CHECK(pairs.src, "link loader: no {} pairs", which);
  Pairs checked{ids("src", pairs.src), ids("dst", pairs.dst)};
  for (size_t k = 0; k < checked.src.size(); ++k)
    ADJ_CHECK(checked.src[k] != checked.dst[k],
              "link loader: pair {} of the {} ones is node {} with itself, expected two nodes", k, which,
              checked.src[k]);
  return checked;
}

/// The graph that has none of what may be drawn: `graph`, with the pairs among its edges.
Graph with_pairs(const Graph& graph, const Pairs& pairs) {
  const Device device = graph.device();
  const Tensor src = Tensor::from(pairs.src, device), dst = Tensor::from(pairs.dst, device);
  Tensor entry = Tensor::empty_like(src);
  kernels::find_entries({.csr = graph.in_edges(), .row = dst, .col = src, .entry = entry});
  const Ids found = entry.to_vector<int32_t>();
  if (std::find(found.begin(), found.end(), -1) == found.end()) return graph;
  const EdgeIndex edges = graph.edge_index();
  Pairs all{edges.src.to_vector<int32_t>(), edges.dst.to_vector<int32_t>()};
  const bool both_ways = graph.relation().symmetric();
  all.add(pairs);
  if (both_ways) all.add({pairs.dst, pairs.src});
  return Graph::from_coo(graph.num_nodes(), Tensor::from(all.src), Tensor::from(all.dst));
}

/// `block` without the edges that `excluded` has, a structure over the numbers of the batch's nodes, which
/// are those of all of its blocks' sources and targets alike.
Block without(const Block& block, const Csr& excluded) {
  const EdgeIndex edges = block.relation().edge_index();
  Tensor found = Tensor::empty_like(edges.src), places = Tensor::empty_like(edges.src),
         count = Tensor::empty({}, DType::i64, block.device());
  kernels::find_entries({.csr = excluded, .row = edges.dst, .col = edges.src, .entry = found});
  kernels::select_pairs(
      {.test = kernels::PairTest::both_absent, .a = found, .b = found, .positions = places, .count = count});
  const int64_t kept = count.to_vector<int64_t>()[0];
  if (kept == block.num_edges()) return block;
  const Tensor left = places.rows(0, kept);
  const auto [csr, order] =
      detail::sorted_edges(block.num_src(), block.num_dst(),
                           {detail::gather_edges(edges.src, left), detail::gather_edges(edges.dst, left)});
  const Tensor edge = order ? detail::gather_edges(left, order) : left;
  return Block(Relation::from_csr(csr), block.src_nodes(),
               block.edge_ids() ? detail::gather_edges(block.edge_ids(), edge) : Tensor());
}

/// What is drawn for an epoch: key 0 of it is its order, key 1 + i its batch i.
Generator generator_of(uint64_t seed, int64_t epoch) {
  return Generator(seed).split(static_cast<uint64_t>(epoch));
}

}  // namespace

struct LinkLoader::Impl {
  Impl(Graph graph, std::shared_ptr<const FeatureStore> features, const EdgeIndex& joined,
       const EdgeIndex* apart, LinkLoaderOptions&& given)
      : options(std::move(given)),
        nodes(graph.num_nodes()),
        home(graph.device()),
        device(options.device.value_or(home)),
        sampler(std::move(graph), options.sampling),
        x(std::move(features)),
        pairs(checked_pairs("joined", joined, nodes)),
        positives(pairs.size()) {
    detail::check_features(kName, x, nodes);
    ADJ_CHECK(options.batch_size >= 1, "link loader: a batch size of {}, expected 1 or more",
              options.batch_size);
    const int64_t most = kMost / std::max<int64_t>(1, std::min(options.batch_size, positives));
    ADJ_CHECK(options.negatives >= 0 && options.negatives <= most,
              "link loader: {} negatives a pair, expected 0 to {} in batches of {}", options.negatives, most,
              options.batch_size);
    ADJ_CHECK(home.is_cpu() || device == home, "link loader: a graph on {} is not sampled for {}", home.str(),
              device.str());
    detail::check_prefetching(kName, options.workers, options.depth);
    if (apart != nullptr) {
      pairs.add(checked_pairs("other", *apart, nodes));
    } else if (options.negatives > 0 && positives > 0) {
      drawn_from = with_pairs(sampler.graph(), pairs);
      // Counts the pairs without an edge once, before workers ask, and throws where there is none.
      Generator generator(options.seed);
      (void)negative_sampling(drawn_from, 1, generator, {.repeated = true});
    }
    ADJ_CHECK(!options.drop_last || pairs.size() == 0 || pairs.size() >= options.batch_size,
              "link loader: without the last batch nothing is left of {} pairs in batches of {}",
              pairs.size(), options.batch_size);
    streams = worker_streams(device, options.workers);
  }

  int64_t size() const { return detail::count_batches(pairs.size(), options.batch_size, options.drop_last); }

  /// Places in `pairs`.
  Ids order(int64_t epoch) const {
    ADJ_CHECK(epoch >= 0, "link loader: epoch {}, expected 0 or more", epoch);
    if (options.shuffle) {
      Generator generator = generator_of(options.seed, epoch).split(0);
      return random_permutation(pairs.size(), generator).to_vector<int32_t>();
    }
    Ids all(static_cast<size_t>(pairs.size()));
    for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int32_t>(k);
    return all;
  }

  /// Pairs of a batch, the joined ones first, and how many those are.
  std::pair<Pairs, int64_t> pairs_of(const Ids& ordered, int64_t begin, Generator& generator) const {
    const int64_t end = std::min(begin + options.batch_size, std::ssize(ordered));
    Pairs joined, others;
    for (int64_t k = begin; k < end; ++k) {
      const int32_t place = ordered[static_cast<size_t>(k)];
      Pairs& part = place < positives ? joined : others;
      part.src.push_back(pairs.src[static_cast<size_t>(place)]);
      part.dst.push_back(pairs.dst[static_cast<size_t>(place)]);
    }
    const int64_t count = joined.size();
    if (drawn_from) {
      const EdgeIndex drawn =
          negative_sampling(drawn_from, count * options.negatives, generator, {.repeated = true});
      others = {drawn.src.to_vector<int32_t>(), drawn.dst.to_vector<int32_t>()};
    }
    joined.add(others);
    return {std::move(joined), count};
  }

  LinkBatch batch(const Ids& ordered, int64_t epoch, int64_t i) const {
    const Generator of_batch = generator_of(options.seed, epoch).split(1 + static_cast<uint64_t>(i));
    Generator draws = of_batch.split(0);
    auto [members, joined] = pairs_of(ordered, i * options.batch_size, draws);
    Ids ends = members.src;
    ends.insert(ends.end(), members.dst.begin(), members.dst.end());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (Ids* side : {&members.src, &members.dst})
      for (int32_t& id : *side)
        id = static_cast<int32_t>(std::lower_bound(ends.begin(), ends.end(), id) - ends.begin());

    LinkBatch batch;
    batch.positives = joined;
    batch.blocks = sampler.sample(Tensor::from(ends, home), of_batch.split(1).seed());
    if (options.exclude && joined > 0) exclude(members, joined, batch.blocks);
    batch.x = detail::gather_features(kName, *x, batch.blocks.front().src_nodes().to(DType::i32), device);
    batch.nodes = Tensor::from(ends, device);
    batch.pairs = {Tensor::from(members.src, device), Tensor::from(members.dst, device)};
    std::vector<float> label(members.src.size(), 0.0f);
    std::fill_n(label.begin(), joined, 1.0f);
    batch.label = Tensor::from(label, device);
    for (Block& block : batch.blocks) {
      block = block.to(device);
      if (options.backward) (void)block.relation().transposed();
    }
    return batch;
  }

  // The pairs' nodes are the first sources of every block, in the same order: their rows number a node in
  // each of them.
  void exclude(const Pairs& members, int64_t joined, std::vector<Block>& blocks) const {
    const auto first = [&](const Ids& side) { return Ids(side.begin(), side.begin() + joined); };
    Pairs both{first(members.src), first(members.dst)};
    both.add({both.dst, both.src});
    const int64_t all = blocks.front().num_src();
    const Csr excluded =
        detail::sorted_edges(all, all, {Tensor::from(both.src, home), Tensor::from(both.dst, home)}).csr;
    for (Block& block : blocks) block = without(block, excluded);
  }

  LinkLoaderOptions options;
  int64_t nodes;
  Device home, device;
  NeighborSampler sampler;
  std::shared_ptr<const FeatureStore> x;
  Pairs pairs;
  int64_t positives;  ///< the first so many of them are joined
  Graph drawn_from;   ///< absent where none is drawn
  std::vector<Stream> streams;
};

LinkLoader::LinkLoader(Graph graph, std::shared_ptr<const FeatureStore> x, const EdgeIndex& joined,
                       LinkLoaderOptions options)
    : impl_(std::make_shared<const Impl>(std::move(graph), std::move(x), joined, nullptr,
                                         std::move(options))) {}

LinkLoader::LinkLoader(const Graph& graph, const Features& x, const EdgeIndex& joined,
                       LinkLoaderOptions options)
    : LinkLoader(graph, make_feature_store(x), joined, std::move(options)) {}

LinkLoader::LinkLoader(Graph graph, std::shared_ptr<const FeatureStore> x, const LinkExamples& pairs,
                       LinkLoaderOptions options)
    : impl_(std::make_shared<const Impl>(std::move(graph), std::move(x), pairs.positive, &pairs.negative,
                                         std::move(options))) {}

LinkLoader::LinkLoader(const Graph& graph, const Features& x, const LinkExamples& pairs,
                       LinkLoaderOptions options)
    : LinkLoader(graph, make_feature_store(x), pairs, std::move(options)) {}

int64_t LinkLoader::size() const { return impl_->size(); }
int64_t LinkLoader::num_pairs() const { return impl_->pairs.size(); }
const LinkLoaderOptions& LinkLoader::options() const { return impl_->options; }

Prefetcher<LinkBatch> LinkLoader::epoch(int64_t e) const {
  return {size(),
          [impl = impl_, ordered = impl_->order(e), e](int64_t i) { return impl->batch(ordered, e, i); },
          {.workers = impl_->options.workers, .depth = impl_->options.depth, .streams = impl_->streams}};
}

LinkBatch LinkLoader::batch(int64_t e, int64_t i) const {
  ADJ_CHECK(i >= 0 && i < size(), "link loader: batch {}, expected 0 to {}", i, size() - 1);
  return impl_->batch(impl_->order(e), e, i);
}

}  // namespace adj
