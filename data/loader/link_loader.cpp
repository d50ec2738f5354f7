#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace adj {

namespace {

constexpr std::string_view kLinkLoader = "link loader";

using Ids = std::vector<int32_t>;

constexpr int64_t kMostPairs = std::numeric_limits<int32_t>::max() / 4;  // pairs of a batch

/// Pairs in the host's memory.
struct Pairs {
  Ids src, dst;
  int64_t size() const { return std::ssize(src); }
  void add(const Pairs& others) {
    src.insert(src.end(), others.src.begin(), others.src.end());
    dst.insert(dst.end(), others.dst.begin(), others.dst.end());
  }
};

/// Throws unless all are pairs of nodes, of different ones unless `loops`.
Pairs checked_pairs(const char* which, const EdgeIndex& pairs, int64_t nodes, bool loops = false) {
  const auto ids = [&](const char* side, const Tensor& ends) {
    ADJ_CHECK(
        ends && ends.dims() == 1 && (ends.dtype() == DType::i32 || ends.dtype() == DType::i64) &&
            ends.numel() == pairs.src.numel(),
        "link loader: {} of the {} pairs are {}, expected [P] int32 or int64, equally many on both sides",
        side, which, ends.str());
    const auto wide = ends.to(Device::cpu()).to(DType::i64).to_vector<int64_t>();
    for (size_t k = 0; k < wide.size(); ++k)
      ADJ_CHECK(wide[k] >= 0 && wide[k] < nodes,
                "link loader: {}[{}] of the {} pairs is {}, expected 0 to {}", side, k, which, wide[k],
                nodes - 1);
    return Ids(wide.begin(), wide.end());
  };
  ADJ_CHECK(pairs.src, "link loader: no {} pairs", which);
  Pairs checked{ids("src", pairs.src), ids("dst", pairs.dst)};
  for (size_t k = 0; k < checked.src.size(); ++k)
    ADJ_CHECK(loops || checked.src[k] != checked.dst[k],
              "link loader: pair {} of the {} ones is node {} with itself, expected two nodes", k, which,
              checked.src[k]);
  return checked;
}

/// `block` without the edges of `excluded`, a structure over the batch's node numbers, which are those of the
/// sources and targets of all blocks. `relations`, int32 by type of edges: -1 for those that are all kept;
/// absent: none.
Block without(const Block& block, const Csr& excluded, const Tensor& relations) {
  const EdgeIndex edges = block.relation().edge_index();
  Tensor found = Tensor::empty_like(edges.src), places = Tensor::empty_like(edges.src),
         count = Tensor::empty({}, DType::i64, block.device());
  kernels::find_entries({.csr = excluded, .row = edges.dst, .col = edges.src, .entry = found});
  if (relations) {
    const Tensor of_edges =
        detail::gather_edges(relations, detail::find_attribute(kLinkLoader, block.edge_attributes(), "type"));
    Tensor both = Tensor::empty_like(found), other = Tensor::empty_like(found);
    kernels::order_pairs({.a = found, .b = of_edges, .low = both, .high = other});
    found = both;
  }
  kernels::select_pairs(
      {.test = kernels::PairTest::both_absent, .a = found, .b = found, .positions = places, .count = count});
  const int64_t kept = count.to_vector<int64_t>()[0];
  if (kept == block.num_edges()) return block;
  const Tensor left = places.rows(0, kept);
  const auto [csr, order] =
      detail::sorted_edges(block.num_src(), block.num_dst(),
                           {detail::gather_edges(edges.src, left), detail::gather_edges(edges.dst, left)});
  const Tensor edge = order ? detail::gather_edges(left, order) : left;
  const auto gathered = [&](const Tensor& of_edges) {
    return of_edges ? detail::gather_edges(of_edges, edge) : Tensor();
  };
  return Block(Relation::from_csr(csr), block.src_nodes(), gathered(block.edge_ids()))
      .with_edge_data(gathered(block.edge_weight()),
                      detail::gather_attributes(block.edge_attributes(), edge));
}

struct LinkBatches {
  LinkBatches(Graph graph, std::shared_ptr<const FeatureStore> features, const EdgeIndex& positive,
              const EdgeIndex* apart, const LinkLoaderOptions& loader_options)
      : options(loader_options),
        nodes(graph.num_nodes()),
        home(graph.device()),
        device(options.loading.device.value_or(home)),
        sampler(std::move(graph), options.sampling),
        x(std::move(features)),
        pairs(checked_pairs("positive", positive, nodes,
                            apart == nullptr && options.negatives == 0 && !options.exclude)),
        positives(pairs.size()) {
    detail::check_features(kLinkLoader, x, nodes);
    detail::check_sampled_for(kLinkLoader, home, device);
    if (options.loading.batch_size == 0) options.loading.batch_size = 1024;
    const int64_t most = kMostPairs / std::max<int64_t>(1, std::min(options.loading.batch_size, positives));
    ADJ_CHECK(options.negatives >= 0 && options.negatives <= most,
              "link loader: {} negatives per pair, expected 0 to {} in batches of {}", options.negatives,
              most, options.loading.batch_size);
    if (apart != nullptr) {
      pairs.add(checked_pairs("other", *apart, nodes));
    } else if (options.negatives > 0 && positives > 0) {
      const EdgeIndex known{Tensor::from(pairs.src), Tensor::from(pairs.dst)};
      if (options.relation)
        negatives.emplace(sampler.graph(), known, *options.relation);
      else
        negatives.emplace(sampler.graph(), known, options.undirected);
    }
    if (options.relation) {
      Ids chosen(static_cast<size_t>(options.relation->num_relations), -1);
      for (const int32_t relation : options.relation->relations) chosen.at(static_cast<size_t>(relation)) = 0;
      excluded_relations = Tensor::from(chosen, home);
    }
  }

  /// The pairs at `places`, positives first, and the places of these.
  std::pair<Pairs, Ids> pairs_of(const Tensor& places, Generator& generator) const {
    Pairs positive, others;
    Ids positions;
    for (const int32_t place : places.to_vector<int32_t>()) {
      Pairs& part = place < positives ? positive : others;
      if (place < positives) positions.push_back(place);
      part.src.push_back(pairs.src[static_cast<size_t>(place)]);
      part.dst.push_back(pairs.dst[static_cast<size_t>(place)]);
    }
    const int64_t count = positive.size();
    if (negatives) {
      const EdgeIndex drawn = negatives->draw(count * options.negatives, generator);
      others = {drawn.src.to_vector<int32_t>(), drawn.dst.to_vector<int32_t>()};
    }
    positive.add(others);
    return {std::move(positive), std::move(positions)};
  }

  LinkBatch make(const BatchIndex& index) const {
    Generator draws = index.draws.split(0);
    auto [members, positions] = pairs_of(index.items, draws);
    const int64_t positive = std::ssize(positions);
    Ids ends = members.src;
    ends.insert(ends.end(), members.dst.begin(), members.dst.end());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (Ids* side : {&members.src, &members.dst})
      for (int32_t& id : *side)
        id = static_cast<int32_t>(std::lower_bound(ends.begin(), ends.end(), id) - ends.begin());

    std::vector<float> label(members.src.size(), 0.0f);
    std::fill_n(label.begin(), positive, 1.0f);
    LinkBatch batch{.blocks = sampler.sample(Tensor::from(ends, home), index.draws.split(1).seed()),
                    .x = {},
                    .nodes = Tensor::from(ends),
                    .pairs = {Tensor::from(members.src), Tensor::from(members.dst)},
                    .label = Tensor::from(label),
                    .positives = positive,
                    .positions = Tensor::from(positions)};
    if (options.exclude && positive > 0) exclude(members, positive, batch.blocks);
    detail::derive(options.loading, batch.blocks);
    LinkBatch result = batch.to(device);
    detail::plan_blocks(options.loading, result.blocks);
    detail::derive_blocks(options.loading, result.blocks);
    result.x = detail::gather_features(kLinkLoader, *x, batch.blocks.front().src_nodes(),
                                       result.blocks.front().src_nodes(), device);
    return result;
  }

  // The pairs' nodes are the first sources of every block, in the same order, so their numbers hold in each.
  void exclude(const Pairs& members, int64_t positive, std::vector<Block>& blocks) const {
    const auto first = [&](const Ids& side) { return Ids(side.begin(), side.begin() + positive); };
    Pairs both{first(members.src), first(members.dst)};
    both.add({both.dst, both.src});
    const int64_t all = blocks.front().num_src();
    const Csr excluded =
        detail::sorted_edges(all, all, {Tensor::from(both.src, home), Tensor::from(both.dst, home)}).csr;
    for (Block& block : blocks) block = without(block, excluded, excluded_relations);
  }

  LinkLoaderOptions options;
  int64_t nodes;
  Device home, device;
  NeighborSampler sampler;
  std::shared_ptr<const FeatureStore> x;
  Pairs pairs;
  int64_t positives;                       ///< number of positives, which come first
  std::optional<NegativePairs> negatives;  ///< absent if none are drawn
  Tensor excluded_relations;               ///< as in without()
};

Loader<LinkBatch> loader_of(Graph graph, std::shared_ptr<const FeatureStore> x, const EdgeIndex& positive,
                            const EdgeIndex* apart, const LinkLoaderOptions& options) {
  const auto batches =
      std::make_shared<const LinkBatches>(std::move(graph), std::move(x), positive, apart, options);
  return {{.loader = std::string(kLinkLoader),
           .things = "pairs",
           .items = detail::numbers(batches->pairs.size()),
           .device = batches->device},
          batches->options.loading,
          [batches](const BatchIndex& index) { return batches->make(index); }};
}

}  // namespace

LinkBatch LinkBatch::to(Device device) const {
  return detail::moved(*this, device, &LinkBatch::nodes, &LinkBatch::pairs, &LinkBatch::label,
                       &LinkBatch::positions, &LinkBatch::blocks);
}

LinkLoader::LinkLoader(Graph graph, const FeatureInput& x, const EdgeIndex& positive,
                       const LinkLoaderOptions& options)
    : Loader(loader_of(std::move(graph), x, positive, nullptr, options)) {}

LinkLoader::LinkLoader(Graph graph, const FeatureInput& x, const LinkExamples& pairs,
                       const LinkLoaderOptions& options)
    : Loader(loader_of(std::move(graph), x, pairs.positive, &pairs.negative, options)) {}

}  // namespace adj
