#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/detail/link_parts.h>
#include <adjoint/graph/joint_graph.h>
#include <adjoint/graph/sample/negative_sampling.h>

#include <algorithm>

namespace adj {

namespace {

using Ids = std::vector<int32_t>;
using Pair = std::pair<int32_t, int32_t>;

/// Pairs of nodes from the sources of a relation to its targets, within one type from the smaller node.
class PairKeys {
 public:
  PairKeys(const EdgeIndex& edges, bool reversed, bool one_type) {
    const Ids src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
    for (size_t e = 0; e < src.size(); ++e) {
      Pair pair = reversed ? Pair(dst[e], src[e]) : Pair(src[e], dst[e]);
      if (one_type && pair.first > pair.second) std::swap(pair.first, pair.second);
      of_edges_.push_back(pair);
    }
    distinct_ = of_edges_;
    sort();
  }

  void add(const PairKeys& others) {
    distinct_.insert(distinct_.end(), others.distinct_.begin(), others.distinct_.end());
    sort();
  }
  bool operator==(const PairKeys& other) const { return distinct_ == other.distinct_; }
  bool has(const Pair& pair) const { return std::ranges::binary_search(distinct_, pair); }
  /// Distinct pairs that are among `others`.
  int64_t count_in(const PairKeys& others) const {
    return std::ranges::count_if(distinct_, [&](const Pair& pair) { return others.has(pair); });
  }
  /// Numbers of the edges whose pairs are not among `others`.
  Tensor edges_without(const PairKeys& others) const {
    Ids kept;
    for (size_t e = 0; e < of_edges_.size(); ++e)
      if (!others.has(of_edges_[e])) kept.push_back(static_cast<int32_t>(e));
    return Tensor::from(kept);
  }

 private:
  void sort() {
    std::ranges::sort(distinct_);
    distinct_.erase(std::ranges::unique(distinct_).begin(), distinct_.end());
  }

  std::vector<Pair> of_edges_, distinct_;
};

EdgeIndex gathered(const EdgeIndex& edges, const Tensor& index) {
  return {detail::gather_edges(edges.src, index), detail::gather_edges(edges.dst, index)};
}

}  // namespace

HeteroLinkSplit random_link_split(const HeteroGraph& graph, const EdgeType& type,
                                  const SplitFractions& fractions, Generator& generator) {
  const Relation relation = graph.relation(type).to(Device::cpu());
  const EdgeIndex edges = relation.edge_index();
  const bool one_type = type.src == type.dst;
  // One graph, where the targets are behind the sources.
  const int64_t shift = one_type ? 0 : relation.num_src();
  const Graph joined =
      Graph::from_coo(shift + relation.num_dst(), edges.src, detail::shifted(edges.dst, shift));
  const auto between_types = [&](const EdgeIndex& pairs) {
    return EdgeIndex{pairs.src, detail::shifted(pairs.dst, -shift)};
  };
  const detail::LinkParts parts = detail::deal_links(joined, fractions, generator, true);
  const EdgeIndex val = between_types(parts.val), test = between_types(parts.test);
  const int64_t first = val.src.numel(), all = first + test.src.numel();
  const EdgeIndex negative = one_type ? negative_sampling(joined, all, generator, {.undirected = true})
                                      : negative_sampling(relation, all, generator);
  HeteroLinkSplit split{.train = {},
                        .pairs = {},
                        .val = {val, {negative.src.rows(0, first), negative.dst.rows(0, first)}},
                        .test = {test, {negative.src.rows(first, all), negative.dst.rows(first, all)}},
                        .same = {},
                        .also = {}};
  const PairKeys keys(edges, false, one_type);
  PairKeys hidden(val, false, one_type);
  hidden.add(PairKeys(test, false, one_type));
  const EdgeIndex linked = between_types(linked_pairs(joined, true));
  split.pairs = gathered(linked, PairKeys(linked, false, one_type).edges_without(hidden));

  HeteroGraph::NodeCounts counts;
  for (const std::string& name : graph.node_types()) counts[name] = graph.num_nodes(name);
  std::map<EdgeType, HeteroGraph::Edges> left;
  for (const EdgeType& other : graph.edge_types()) {
    const HeteroGraph::Edges whole{graph.relation(other).to(Device::cpu()),
                                   detail::to_device(graph.edge_attributes(other), Device::cpu())};
    const bool forward = other.src == type.src && other.dst == type.dst,
               backward = other.src == type.dst && other.dst == type.src;
    left.emplace(other, whole);
    if (!forward && !backward) continue;
    const EdgeIndex index = whole.relation.edge_index();
    const PairKeys others(index, !forward, one_type);
    const bool same = other == type || are_reverses(other, type) || others == keys;
    const int64_t shared = others.count_in(hidden);
    if (same && other != type) split.same.push_back(other);
    if (!same && shared > 0) split.also[other] = shared;
    if (!same || shared == 0) continue;
    const Tensor kept = others.edges_without(hidden);
    const EdgeIndex rest = gathered(index, kept);
    left.at(other) = {
        Relation::from_coo(whole.relation.num_src(), whole.relation.num_dst(), rest.src, rest.dst),
        detail::gather_attributes(whole.attributes, kept)};
  }
  split.train = HeteroGraph(std::move(counts), std::move(left));
  return split;
}

}  // namespace adj
