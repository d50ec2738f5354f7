#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>

namespace adj {

namespace {

using Ids = std::vector<int32_t>;

/// `graph` with the pairs added as edges.
Graph with_pairs(const Graph& graph, const EdgeIndex& pairs) {
  const Tensor src = pairs.src.to(DType::i32).to(graph.device()),
               dst = pairs.dst.to(DType::i32).to(graph.device());
  Tensor entry = Tensor::empty_like(src);
  kernels::find_entries({.csr = graph.in_edges(), .row = dst, .col = src, .entry = entry});
  if (const Ids found = entry.to_vector<int32_t>(); std::ranges::find(found, -1) == found.end()) return graph;
  const EdgeIndex edges = graph.edge_index();
  Ids all_src = edges.src.to_vector<int32_t>(), all_dst = edges.dst.to_vector<int32_t>();
  const auto add = [&](const Tensor& sources, const Tensor& targets) {
    const Ids first = sources.to_vector<int32_t>(), second = targets.to_vector<int32_t>();
    all_src.insert(all_src.end(), first.begin(), first.end());
    all_dst.insert(all_dst.end(), second.begin(), second.end());
  };
  const bool both_ways = graph.relation().symmetric();
  add(src, dst);
  if (both_ways) add(dst, src);
  return Graph::from_coo(graph.num_nodes(), Tensor::from(all_src), Tensor::from(all_dst));
}

/// The joint graph's edges of a relation and the known pairs, numbered within their types.
EdgeIndex edges_of(const Graph& joint, const EdgeIndex& known, const JointPairs& pairs) {
  const EdgeIndex edges = joint.edge_index();
  const Ids src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>(),
            type = joint.edge_attr("type").to_vector<int32_t>(),
            more_src = known.src.to(DType::i32).to_vector<int32_t>(),
            more_dst = known.dst.to(DType::i32).to_vector<int32_t>();
  Ids sources, targets;
  const auto add = [&](int32_t source, int32_t target) {
    sources.push_back(source - static_cast<int32_t>(pairs.src_begin));
    targets.push_back(target - static_cast<int32_t>(pairs.dst_begin));
  };
  for (size_t e = 0; e < type.size(); ++e)
    if (type[e] == pairs.relations.front()) add(src[e], dst[e]);
  for (size_t k = 0; k < more_src.size(); ++k) add(more_src[k], more_dst[k]);
  return {Tensor::from(sources), Tensor::from(targets)};
}

}  // namespace

NegativePairs::NegativePairs(const Graph& graph, const EdgeIndex& known, bool undirected)
    : graph_(with_pairs(graph, known)), undirected_(undirected) {
  count_pairs();
}

NegativePairs::NegativePairs(const Graph& joint, const EdgeIndex& known, const JointPairs& pairs)
    : src_begin_(static_cast<int32_t>(pairs.src_begin)), dst_begin_(static_cast<int32_t>(pairs.dst_begin)) {
  const EdgeIndex edges = edges_of(joint, known, pairs);
  const int64_t sources = pairs.src_end - pairs.src_begin, targets = pairs.dst_end - pairs.dst_begin;
  if (pairs.within_type())
    graph_ = Graph::from_coo(sources, edges.src, edges.dst);
  else
    relation_ = Relation::from_coo(sources, targets, edges.src, edges.dst);
  count_pairs();
}

/// Once, before workers do.
void NegativePairs::count_pairs() const {
  Generator generator(0);
  (void)draw(1, generator);
}

EdgeIndex NegativePairs::draw(int64_t count, Generator& generator) const {
  const EdgeIndex drawn =
      relation_ ? negative_sampling(relation_, count, generator, true)
                : negative_sampling(graph_, count, generator, {.repeated = true, .undirected = undirected_});
  return {detail::shifted(drawn.src, src_begin_), detail::shifted(drawn.dst, dst_begin_)};
}

}  // namespace adj
