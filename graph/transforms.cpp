#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/transforms.h>
#include <adjoint/kernels/elementwise/dropout.h>
#include <adjoint/kernels/index/select.h>
#include <adjoint/kernels/sparse/csr.h>

namespace adj {

namespace {

using detail::concatenated;
using detail::gather_edges;
using detail::iota;
using detail::places;

/// The inverse of distinct ids in [0, limit), on `device`; throws if they are not.
Tensor checked_inverse(const char* op, const char* what, const Tensor& ids, int64_t limit, Device device) {
  ADJ_CHECK(ids && ids.dims() == 1 && ids.dtype() == DType::i32, "{}: {}s are {}, expected [K] int32", op,
            what, ids.str());
  const Tensor index = ids.to(device);
  const auto value_at = [](const Tensor& tensor, int64_t k) {
    return tensor.rows(k, k + 1).to_vector<int32_t>()[0];
  };
  Tensor place = Tensor::empty({}, DType::i64, device);
  kernels::first_outside({.index = index, .limit = limit, .position = place});
  if (const int64_t k = place.to_vector<int64_t>()[0]; k < index.numel())
    fail("{}: {}s[{}] is {}, expected 0 to {}", op, what, k, value_at(index, k), limit - 1);
  Tensor number = Tensor::empty({limit}, DType::i32, device);
  kernels::renumber({.index = index, .number = number, .repeated = place});
  if (const int64_t k = place.to_vector<int64_t>()[0]; k < index.numel()) {
    const int32_t id = value_at(index, k);
    fail("{}: {} {} occurs at {} and at {}, expected once", op, what, id, value_at(number, id), k);
  }
  return number;
}

/// One row for each run of `order` that begins at a position in `starts`; absent if x is.
Tensor merged(const Tensor& x, const Tensor& order, const Tensor& starts, bool mean) {
  if (!x) return {};
  if (!is_floating(x.dtype())) return gather_edges(x, gather_edges(order, starts));
  if (x.dtype() == DType::bf16) return merged(x.to(DType::f32), order, starts, mean).to(DType::bf16);
  const Tensor matrix = x.dims() == 1 ? x.reshape({x.numel(), 1}) : x;
  Tensor y = Tensor::empty({starts.numel(), matrix.size(1)}, x.dtype(), x.device());
  kernels::merge_runs({.mean = mean, .x = matrix, .order = order, .starts = starts, .y = y});
  return x.dims() == 1 ? y.reshape({y.numel()}) : y;
}

EdgeIndex picked(const EdgeIndex& edges, const Tensor& which) {
  return {gather_edges(edges.src, which), gather_edges(edges.dst, which)};
}

/// Edge data for a new graph: edge e has row row[e], or row e if `row` is absent.
struct Carried {
  Tensor weight;  // optional
  EdgeAttributes attributes;
  Tensor origin;  // old edge, -1 for an added one; absent: edge `row`
  Tensor row;
};

struct Built {
  Graph graph;
  Tensor edge_map;
};

Built build(const Relation& relation, const Carried& edge_data) {
  if (!edge_data.row) return {Graph(relation, edge_data.weight, edge_data.attributes), edge_data.origin};
  return {Graph(relation, edge_data.weight ? gather_edges(edge_data.weight, edge_data.row) : Tensor(),
                detail::gather_attributes(edge_data.attributes, edge_data.row)),
          edge_data.origin ? gather_edges(edge_data.origin, edge_data.row) : edge_data.row};
}

/// From edges in any order.
Built build(int64_t nodes, const EdgeIndex& edges, Carried edge_data) {
  const auto [csr, order] = detail::sorted_edges(nodes, nodes, edges);
  edge_data.row = edge_data.row ? gather_edges(edge_data.row, order) : order;
  return build(Relation::from_csr(csr), edge_data);
}

/// From edges sorted by target, then source.
Built build_sorted(int64_t nodes, const EdgeIndex& edges, const Carried& edge_data) {
  return build(Relation::from_csr(detail::sorted_edges(nodes, nodes, edges).csr), edge_data);
}

/// Result if no edges were merged.
Transformed apart(const Graph& old, Built built) {
  Tensor became = kernels::inverse_of(built.edge_map, old.num_edges());
  return {std::move(built.graph), std::move(built.edge_map), std::move(became)};
}

/// Result with the new edge that contains each old edge.
Transformed merged(const Graph& old, Built built) {
  const auto [src, dst] = old.edge_index();
  Tensor became = Tensor::empty_like(src);
  kernels::find_entries({.csr = built.graph.in_edges(), .row = dst, .col = src, .entry = became});
  return {std::move(built.graph), std::move(built.edge_map), std::move(became)};
}

/// The edge numbers of the CSR entries `entries`.
Tensor numbers(const Relation& relation, const Tensor& entries) {
  return relation.csr_order() ? gather_edges(relation.csr_order(), entries) : entries;
}

/// Edge data for the kept edges `edges`.
Carried kept(const Graph& graph, const Tensor& edges) {
  return {graph.edge_weight(), graph.edge_attributes(), {}, edges};
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
  // Both directions are sorted under (low, high) and merged once, so both get bitwise equal values.
  Tensor low = Tensor::empty_like(src), high = Tensor::empty_like(src);
  kernels::order_pairs({.a = src, .b = dst, .low = low, .high = high});
  const auto pairs = detail::sorted_edges(nodes, nodes, {low, high});
  low = pairs.csr.indices;
  kernels::expand_rows({.a = pairs.csr, .row = high});
  const Tensor starts = places(kernels::PairTest::begins_run, low, high);
  low = gather_edges(low, starts);
  high = gather_edges(high, starts);
  // A row of the whole is the edges from smaller nodes, then those from larger ones, which are the reverses
  // without self-loops. Both parts are sorted, and so are their columns.
  const Tensor turned = places(kernels::PairTest::differ, low, high);
  const auto up = detail::sorted_edges(nodes, nodes, {low, high});
  const auto down = detail::sorted_edges(nodes, nodes, picked({high, low}, turned));
  const int64_t edges = starts.numel() + turned.numel();
  Csr both = up.csr;
  both.offsets = Tensor::empty_like(up.csr.offsets);
  both.indices = Tensor::empty({edges}, DType::i32, device);
  Tensor row = Tensor::empty_like(both.indices);
  kernels::join_rows({.a = up.csr,
                      .b = down.csr,
                      .a_value = up.order,
                      .b_value = gather_edges(turned, down.order),
                      .offsets = both.offsets,
                      .indices = both.indices,
                      .values = row});
  const bool mean = true;
  return merged(graph, build(Relation::from_csr(both, true),
                             {merged(graph.edge_weight(), pairs.order, starts, mean),
                              merged(graph.edge_attributes(), pairs.order, starts, mean),
                              gather_edges(pairs.order, starts), row}));
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
  Carried edge_data;
  if (graph.edge_weight() || weight != 1.0f) {
    const Tensor edge_weight =
        graph.edge_weight() ? graph.edge_weight() : Tensor::full({edges}, 1.0, DType::f32, device);
    edge_data.weight =
        concatenated(edge_weight, Tensor::full({added}, static_cast<double>(weight), DType::f32, device));
  }
  for (const auto& [name, attribute] : graph.edge_attributes()) {
    const Shape shape = attribute.dims() == 1 ? Shape{added} : Shape{added, attribute.size(1)};
    edge_data.attributes.emplace(name,
                                 concatenated(attribute, Tensor::zeros(shape, attribute.dtype(), device)));
  }
  edge_data.origin = concatenated(iota(edges, device), Tensor::full({added}, -1.0, DType::i32, device));
  return apart(graph,
               build(graph.num_nodes(), {concatenated(src, lacking), concatenated(dst, lacking)}, edge_data));
}

Transformed remove_self_loops(const Graph& graph) {
  const Relation& relation = graph.relation();
  const EdgeIndex edges = relation.sorted().edge_index();
  const Tensor left = places(kernels::PairTest::differ, edges.src, edges.dst);
  return apart(graph,
               build_sorted(graph.num_nodes(), picked(edges, left), kept(graph, numbers(relation, left))));
}

Transformed coalesce(const Graph& graph) {
  const Relation& relation = graph.relation();
  const EdgeIndex edges = relation.sorted().edge_index();
  const Tensor order = relation.csr_order() ? relation.csr_order() : iota(graph.num_edges(), graph.device());
  const Tensor starts = places(kernels::PairTest::begins_run, edges.dst, edges.src);
  const bool mean = false;
  return merged(graph, build_sorted(graph.num_nodes(), picked(edges, starts),
                                    {merged(graph.edge_weight(), order, starts, mean),
                                     merged(graph.edge_attributes(), order, starts, mean),
                                     numbers(relation, starts),
                                     {}}));
}

Transformed induced_subgraph(const Graph& graph, const Tensor& nodes) {
  const Tensor number = checked_inverse("induced_subgraph", "node", nodes, graph.num_nodes(), graph.device());
  const auto [src, dst] = graph.edge_index();
  const EdgeIndex ends{gather_edges(number, src), gather_edges(number, dst)};
  const Tensor left = places(kernels::PairTest::both_present, ends.src, ends.dst);
  return apart(graph, build(nodes.numel(), picked(ends, left), kept(graph, left)));
}

Transformed permuted(const Graph& graph, const Tensor& order) {
  const Tensor number = checked_inverse("permuted", "node", order, graph.num_nodes(), graph.device());
  ADJ_CHECK(order.numel() == graph.num_nodes(), "permuted: an order of {} nodes for {}, expected all of them",
            order.numel(), graph.num_nodes());
  const auto [src, dst] = graph.edge_index();
  return apart(graph, build(graph.num_nodes(), {gather_edges(number, src), gather_edges(number, dst)},
                            kept(graph, iota(graph.num_edges(), graph.device()))));
}

Transformed edge_subgraph(const Graph& graph, const Tensor& edges) {
  (void)checked_inverse("edge_subgraph", "edge", edges, graph.num_edges(), graph.device());
  const Tensor left = edges.to(graph.device());
  return apart(graph, build(graph.num_nodes(), picked(graph.edge_index(), left), kept(graph, left)));
}

Transformed dropout_edge(const Graph& graph, float p, bool force_undirected, bool training,
                         Generator& generator) {
  const DropoutRule rule = dropout_rule(p);
  const Device device = graph.device();
  const int64_t edges = graph.num_edges();
  if (!training || rule.threshold == 0) {
    const Relation& relation = graph.relation();
    // Same numbering as when edges are dropped.
    if (const Tensor& order = relation.csr_order())
      return apart(graph, build(relation.sorted(), kept(graph, order)));
    const Tensor all = iota(edges, device);
    return {graph, all, all};
  }
  // 1 / (1 - p) or 0; as an integer at least 1, or 0.
  Tensor drawn = Tensor::full({edges}, 1.0, DType::f32, device);
  kernels::dropout({.x = drawn, .key = generator.next(), .rule = rule, .y = drawn});
  const Tensor none = Tensor::zeros({edges}, DType::i32, device);
  Tensor left = places(kernels::PairTest::differ, drawn.to(DType::i32), none);
  EdgeIndex ends = picked(graph.edge_index(), left);
  if (!force_undirected) return apart(graph, build(graph.num_nodes(), ends, kept(graph, left)));
  const Tensor up = places(kernels::PairTest::ascends, ends.src, ends.dst);
  left = gather_edges(left, up);
  ends = picked(ends, up);
  const Tensor turned = places(kernels::PairTest::differ, ends.src, ends.dst);  // all except loops
  return merged(graph, build(graph.num_nodes(),
                             {concatenated(ends.src, gather_edges(ends.dst, turned)),
                              concatenated(ends.dst, gather_edges(ends.src, turned))},
                             kept(graph, concatenated(left, gather_edges(left, turned)))));
}

Graph reverse(const Graph& graph) {
  return Graph(graph.relation().reversed(), graph.edge_weight(), graph.edge_attributes());
}

}  // namespace adj
