#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <utility>

namespace adj::npz {

namespace {

/// Ascending columns per row, duplicates summed, then positive numbers set to 1.
SparseMatrix binary(const Csr& csr, const Tensor& values) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> columns;
  std::vector<float> numbers;
  std::vector<std::pair<int32_t, float>> row;
  const int64_t* begins = csr.offsets.data<int64_t>();
  const int32_t* column = csr.indices.data<int32_t>();
  const float* value = values.data<float>();
  columns.reserve(static_cast<size_t>(csr.indices.numel()));
  numbers.reserve(columns.capacity());
  for (int64_t i = 0; i < csr.rows; ++i) {
    row.clear();
    for (int64_t e = begins[i]; e < begins[i + 1]; ++e) row.emplace_back(column[e], value[e]);
    std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t k = 0; k < row.size();) {
      float sum = 0.0f;
      const int32_t current = row[k].first;
      for (; k < row.size() && row[k].first == current; ++k) sum += row[k].second;
      columns.push_back(current);
      numbers.push_back(sum > 0.0f ? 1.0f : sum);
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  return SparseMatrix::from_csr(csr.rows, csr.cols, offsets, columns, numbers);
}

Features read_features(const NpzReader& z, int64_t nodes) {
  if (z.has("attr_matrix")) {
    if (const int64_t rows = nodes_with_features(z, "attr_matrix"); rows != nodes)
      z.fail("attr_matrix", "{} rows, but adj_shape has {}", rows, nodes);
    return Features(finite(z, "attr_matrix", {nodes, -1}));
  }
  if (!z.has("attr_indptr")) return {};
  const auto [rows, cols] = matrix_shape(z, "attr_shape");
  if (rows != nodes) z.fail("attr_shape", "{} rows, but adj_shape has {}", rows, nodes);
  expect_shape(z, "attr_indices", {-1});
  const int64_t entries = z.shape("attr_indices")[0], most = detail::most_sparse_columns(entries);
  if (cols > most)
    z.fail("attr_shape", "{} columns for {} entries, expected {} at most", cols, entries, most);
  const Csr attributes = csr(z, "attr_", rows, cols);
  return Features(binary(attributes, finite(z, "attr_data", {attributes.indices.numel()})));
}

}  // namespace

Dataset read_gnn_benchmark(const NpzReader& z) {
  const auto [nodes, cols] = matrix_shape(z, "adj_shape");
  check_nodes(z, "adj_shape", nodes);
  if (cols != nodes) z.fail("adj_shape", "{} by {}, expected as many columns as rows", nodes, cols);
  expect_shape(z, "adj_indices", {-1});
  const int64_t edges = 2 * z.shape("adj_indices")[0];
  check_edges(z, "adj_indices", edges);
  if (nodes > detail::most_bare_nodes(edges) && !z.has("attr_matrix") && !z.has("attr_indptr") &&
      !z.has("labels"))
    z.fail("adj_shape", "{} nodes for {} edges, but nothing in the file has that many nodes", nodes, edges);
  Dataset data;
  data.name = stem(z);
  {
    const Csr adjacency = csr(z, "adj_", nodes, nodes);
    expect_shape(z, "adj_data", {adjacency.indices.numel()});  // values are ignored
    const Graph directed = Graph::from_coo(nodes, rows_of(adjacency), adjacency.indices);
    data.graph = Graph(to_undirected(remove_self_loops(directed)).relation());
  }
  data.undirected = true;
  data.x = read_features(z, nodes);
  if (z.has("labels_data"))
    z.fail("labels_data", "labels as a sparse matrix, expected one label per node in labels");
  if (z.has("labels")) set_classes(data, z, "labels");
  data.use_first_split();
  return data;
}

}  // namespace adj::npz
