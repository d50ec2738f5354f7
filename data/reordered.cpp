#include <adjoint/data/detail/names.h>
#include <adjoint/data/reordered.h>
#include <adjoint/graph/detail/listed_edges.h>
#include <adjoint/graph/order/orders.h>

namespace adj {

namespace {

using detail::gather_edges;  // gathers rows, of edges or of nodes

Tensor gathered(const Tensor& of_nodes, const Tensor& order) {
  return of_nodes ? gather_edges(of_nodes, order) : of_nodes;
}

Features gathered(const Features& x, const Tensor& order, const Tensor& position) {
  if (!x) return x;
  if (!x.is_sparse()) return x.rows(order);
  const SparseMatrix& sparse = x.sparse();
  const EdgeIndex entries = sparse.relation().edge_index();  // from columns to rows
  const auto [csr, entry] =
      detail::sorted_edges(sparse.cols(), sparse.rows(), {entries.src, gather_edges(position, entries.dst)});
  return SparseMatrix(Relation::from_csr(csr), gathered(sparse.values(), entry));
}

bool is_identity(const Tensor& order) {
  const std::vector<int32_t> nodes = order.to_vector<int32_t>();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i] != static_cast<int32_t>(i)) return false;
  return true;
}

void check_graphs_stay(const Tensor& order, const Tensor& graph_offsets) {
  const std::vector<int32_t> nodes = order.to_vector<int32_t>();
  const std::vector<int64_t> offsets = graph_offsets.to_vector<int64_t>();
  for (size_t g = 0; g + 1 < offsets.size(); ++g)
    for (int64_t i = offsets[g]; i < offsets[g + 1]; ++i) {
      const int64_t node = nodes[static_cast<size_t>(i)];
      ADJ_CHECK(
          node >= offsets[g] && node < offsets[g + 1],
          "reordered: node {} at position {}, where graph {} has nodes {} to {}; expected an order within "
          "graphs (order_within)",
          node, i, g, offsets[g], offsets[g + 1] - 1);
    }
}

}  // namespace

Dataset reordered(const Dataset& data, const Tensor& order) {
  ADJ_CHECK(order && order.dims() == 1 && order.numel() == data.num_nodes(),
            "reordered: the order is {}, expected [{}] int32", order.str(), data.num_nodes());
  ADJ_CHECK(!data.x_in_file, "reordered: the features are left in {}, expected them in memory",
            data.x_in_file.str());
  const Tensor nodes = order.to(data.device());
  const Tensor position = inverse_order(nodes);
  if (data.graph_offsets) check_graphs_stay(nodes, data.graph_offsets);
  Dataset result = data;
  const detail::ListedEdges edges = detail::listed_edges(data.graph);
  result.graph = Graph::from_coo(data.num_nodes(), gather_edges(position, edges.ends.src),
                                 gather_edges(position, edges.ends.dst), edges.weight, edges.attributes);
  const Tensor before = gathered(edges.number, result.graph.input_order());
  const Tensor& edge_before = before ? before : result.graph.input_order();  // by edge number
  if (data.edge_y) result.edge_y = gather_edges(data.edge_y, edge_before);
  result.x = gathered(data.x, nodes, position);
  result.y = gathered(data.y, nodes);
  result.part = gathered(data.part, nodes);
  result.times = gathered(data.times, nodes);
  result.node_ids = gathered(data.node_ids, nodes);
  if (data.node_names) {
    const auto [names, offsets] = detail::gathered({data.node_names, data.node_name_offsets}, nodes);
    result.node_names = names;
    result.node_name_offsets = offsets;
  }
  result.order = data.order ? gather_edges(data.order, nodes) : nodes;
  if (is_identity(result.order)) result.order = {};
  if (is_of_graphs(data.task)) return result;
  const Tensor number = is_of_edges(data.task) ? inverse_order(edge_before) : position;
  const auto renumber = [&](auto& split) {
    for (Tensor* part : {&split.train, &split.val, &split.test})
      if (*part) *part = gather_edges(number, *part);
  };
  for (Split& split : result.splits) renumber(split);
  renumber(result);
  return result;
}

Dataset original_order(const Dataset& data) {
  return data.order ? reordered(data, inverse_order(data.order)) : data;
}

Tensor original_rows(const Tensor& rows, const Tensor& order) {
  ADJ_CHECK(rows && rows.dims() >= 1, "original_rows: {}, expected a row for each node", rows.str());
  ADJ_CHECK(!order || order.numel() == rows.size(0), "original_rows: {} in an order of {} nodes", rows.str(),
            order.numel());
  const Tensor host = rows.to(Device::cpu());
  return order ? gather_edges(host, inverse_order(order.to(Device::cpu()))) : host;
}

}  // namespace adj
