#include <adjoint/graph/transforms.h>
#include <adjoint/kernels/index/merge.h>
#include <adjoint/kernels/index/range.h>
#include <adjoint/kernels/index/renumber.h>
#include <adjoint/kernels/index/select.h>

namespace adj {

namespace {

using detail::gather_edges;

Tensor empty_index(int64_t n, Device device) { return Tensor::empty({n}, DType::i32, device); }

Tensor iota(int64_t n, Device device) {
  Tensor y = empty_index(n, device);
  kernels::iota({.y = y});
  return y;
}

/// The places k, ascending, where the pair (a[k], b[k]) passes. Waits for the device, to learn how many.
Tensor places(kernels::PairTest test, const Tensor& a, const Tensor& b) {
  Tensor flags = Tensor::empty_like(a), positions = Tensor::empty_like(a);
  Tensor count = Tensor::empty({}, DType::i64, a.device());
  kernels::flag_pairs({.test = test, .a = a, .b = b, .flags = flags});
  kernels::select_flagged({.flags = flags, .positions = positions, .count = count});
  return positions.rows(0, count.to_vector<int64_t>()[0]);
}

Tensor inverse(const Tensor& index, int64_t limit) {
  Tensor number = empty_index(limit, index.device()),
         repeated = Tensor::empty({}, DType::i64, index.device());
  kernels::renumber({.index = index, .number = number, .repeated = repeated});
  return number;
}

/// The inverse of distinct ids in [0, limit), on `device`; throws where they are not that.
Tensor checked_inverse(const char* op, const char* what, const Tensor& ids, int64_t limit, Device device) {
  ADJ_CHECK(ids && ids.dims() == 1 && ids.dtype() == DType::i32, "{}: {}s are {}, expected [K] int32", op,
            what, ids.str());
  const Tensor index = ids.to(device);
  const auto at = [](const Tensor& tensor, int64_t k) {
    return tensor.rows(k, k + 1).to_vector<int32_t>()[0];
  };
  Tensor place = Tensor::empty({}, DType::i64, device);
  kernels::first_outside({.index = index, .limit = limit, .position = place});
  if (const int64_t k = place.to_vector<int64_t>()[0]; k < index.numel())
    fail("{}: {}s[{}] is {}, expected 0 to {}", op, what, k, at(index, k), limit - 1);
  Tensor number = empty_index(limit, device);
  kernels::renumber({.index = index, .number = number, .repeated = place});
  if (const int64_t k = place.to_vector<int64_t>()[0]; k < index.numel()) {
    const int32_t id = at(index, k);
    fail("{}: {} {} stands at {} and at {}, expected once", op, what, id, at(number, id), k);
  }
  return number;
}

Tensor concatenated(const Tensor& a, const Tensor& b) {
  const int64_t n = a.size(0), all = n + b.size(0);
  Tensor y = Tensor::empty(a.dims() == 1 ? Shape{all} : Shape{all, a.size(1)}, a.dtype(), a.device());
  if (n > 0) y.rows(0, n).copy_(a);
  if (all > n) y.rows(n, all).copy_(b);
  return y;
}

/// One row for each run of `order` that begins at a place of `starts`.
Tensor merged(const Tensor& x, const Tensor& order, const Tensor& starts, bool mean) {
  if (!is_floating(x.dtype())) return gather_edges(x, gather_edges(order, starts));
  if (x.dtype() == DType::bf16) return merged(x.to(DType::f32), order, starts, mean).to(DType::bf16);
  const Tensor matrix = x.dims() == 1 ? x.reshape({x.numel(), 1}) : x;
  Tensor y = Tensor::empty({starts.numel(), matrix.size(1)}, x.dtype(), x.device());
  kernels::merge_runs({.mean = mean, .x = matrix, .order = order, .starts = starts, .y = y});
  return x.dims() == 1 ? y.reshape({y.numel()}) : y;
}

/// The edges of a graph to be, in any order.
struct Draft {
  int64_t nodes;
  Tensor src, dst;
  Tensor weight;  // optional
  EdgeAttributes attributes;
  Tensor row;   // which row of weight and attributes each edge takes; absent: each its own
  Tensor from;  // the old edge, -1 for an added one
};

struct Built {
  Graph graph;
  Tensor edge_map;
};

Built build(const Draft& draft, std::optional<bool> symmetric = {}) {
  const auto sorted = detail::sorted_edges(draft.nodes, draft.nodes, {draft.src, draft.dst});
  const Tensor row = draft.row ? gather_edges(draft.row, sorted.order) : sorted.order;
  return {Graph(Relation::from_csr(sorted.csr, symmetric),
                draft.weight ? gather_edges(draft.weight, row) : Tensor(),
                detail::gather_attributes(draft.attributes, row)),
          gather_edges(draft.from, sorted.order)};
}

/// With what no new edge is made of more than one old edge.
Transformed build_apart(const Graph& old, const Draft& draft) {
  auto [graph, edge_map] = build(draft);
  Tensor became = inverse(edge_map, old.num_edges());
  return {std::move(graph), std::move(edge_map), std::move(became)};
}

/// With what every old edge is part of the new edge between the same nodes.
Transformed build_merged(const Graph& old, const Draft& draft, std::optional<bool> symmetric = {}) {
  auto [graph, edge_map] = build(draft, symmetric);
  const auto [src, dst] = old.edge_index();
  Tensor became = Tensor::empty_like(src);
  kernels::find_entries({.csr = graph.in_edges(), .row = dst, .col = src, .entry = became});
  return {std::move(graph), std::move(edge_map), std::move(became)};
}

/// What is left of the edges, under other nodes' numbers where `src` and `dst` say so.
Transformed kept(const Graph& graph, int64_t nodes, const Tensor& src, const Tensor& dst,
                 const Tensor& edges) {
  return build_apart(graph, {nodes, gather_edges(src, edges), gather_edges(dst, edges), graph.edge_weight(),
                             graph.edge_attributes(), edges, edges});
}

EdgeAttributes merged(const EdgeAttributes& attributes, const Tensor& order, const Tensor& starts,
                      bool mean) {
  EdgeAttributes result;
  for (const auto& [name, tensor] : attributes) result.emplace(name, merged(tensor, order, starts, mean));
  return result;
}

}  // namespace

Transformed to_undirected(const Graph& graph) {
  const Device device = graph.device();
  const int64_t nodes = graph.num_nodes();
  const auto [src, dst] = graph.edge_index();
  // Edges of both directions meet under their nodes in order, and are merged there, once: what the two
  // directions get is one number.
  Tensor low = Tensor::empty_like(src), high = Tensor::empty_like(src);
  kernels::order_pairs({.a = src, .b = dst, .low = low, .high = high});
  const auto pairs = detail::sorted_edges(nodes, nodes, {low, high});
  low = gather_edges(low, pairs.order);
  high = gather_edges(high, pairs.order);
  const Tensor starts = places(kernels::PairTest::begins_run, low, high);
  low = gather_edges(low, starts);
  high = gather_edges(high, starts);
  const Tensor turned = places(kernels::PairTest::differ, low, high);  // a self-loop has one direction
  const Tensor row = concatenated(iota(starts.numel(), device), turned);
  const bool mean = true;
  return build_merged(
      graph,
      {nodes, concatenated(low, gather_edges(high, turned)), concatenated(high, gather_edges(low, turned)),
       graph.edge_weight() ? merged(graph.edge_weight(), pairs.order, starts, mean) : Tensor(),
       merged(graph.edge_attributes(), pairs.order, starts, mean), row,
       gather_edges(gather_edges(pairs.order, starts), row)},
      true);
}

Transformed add_self_loops(const Graph& graph, float weight) {
  const Device device = graph.device();
  const int64_t edges = graph.num_edges();
  const auto [src, dst] = graph.edge_index();
  const Tensor nodes = iota(graph.num_nodes(), device);
  Tensor loop = Tensor::empty_like(nodes);
  kernels::find_entries({.csr = graph.in_edges(), .row = nodes, .col = nodes, .entry = loop});
  const Tensor lacking = places(kernels::PairTest::both_absent, loop, loop);
  const int64_t added = lacking.numel();
  Draft draft{graph.num_nodes(), concatenated(src, lacking), concatenated(dst, lacking), {}, {}, {}, {}};
  if (graph.edge_weight() || weight != 1.0f) {
    const Tensor given =
        graph.edge_weight() ? graph.edge_weight() : Tensor::full({edges}, 1.0, DType::f32, device);
    draft.weight =
        concatenated(given, Tensor::full({added}, static_cast<double>(weight), DType::f32, device));
  }
  for (const auto& [name, given] : graph.edge_attributes()) {
    const Shape shape = given.dims() == 1 ? Shape{added} : Shape{added, given.size(1)};
    draft.attributes.emplace(name, concatenated(given, Tensor::zeros(shape, given.dtype(), device)));
  }
  draft.from = concatenated(iota(edges, device), Tensor::full({added}, -1.0, DType::i32, device));
  return build_apart(graph, draft);
}

Transformed remove_self_loops(const Graph& graph) {
  const auto [src, dst] = graph.edge_index();
  return kept(graph, graph.num_nodes(), src, dst, places(kernels::PairTest::differ, src, dst));
}

Transformed coalesce(const Graph& graph) {
  const Relation& relation = graph.relation();
  const auto [src, dst] = relation.sorted().edge_index();
  const Tensor order = relation.csr_order() ? relation.csr_order() : iota(graph.num_edges(), graph.device());
  const Tensor starts = places(kernels::PairTest::begins_run, dst, src);
  const bool mean = false;
  return build_merged(graph,
                      {graph.num_nodes(),
                       gather_edges(src, starts),
                       gather_edges(dst, starts),
                       graph.edge_weight() ? merged(graph.edge_weight(), order, starts, mean) : Tensor(),
                       merged(graph.edge_attributes(), order, starts, mean),
                       {},
                       gather_edges(order, starts)});
}

Transformed induced_subgraph(const Graph& graph, const Tensor& nodes) {
  const Tensor number = checked_inverse("induced_subgraph", "node", nodes, graph.num_nodes(), graph.device());
  const auto [src, dst] = graph.edge_index();
  const Tensor from = gather_edges(number, src), to = gather_edges(number, dst);
  return kept(graph, nodes.numel(), from, to, places(kernels::PairTest::both_present, from, to));
}

Transformed edge_subgraph(const Graph& graph, const Tensor& edges) {
  (void)checked_inverse("edge_subgraph", "edge", edges, graph.num_edges(), graph.device());
  const auto [src, dst] = graph.edge_index();
  return kept(graph, graph.num_nodes(), src, dst, edges.to(graph.device()));
}

Graph reverse(const Graph& graph) {
  return Graph(graph.relation().reversed(), graph.edge_weight(), graph.edge_attributes());
}

}  // namespace adj
