#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/import/detail/edge_rows.h>
#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/data/import/npz_dataset.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/ranges.h>

namespace adj {

namespace npz {

namespace {

Dataset read_heterophilous(const NpzReader& z) {
  const int64_t nodes = nodes_with_features(z, "node_features");
  expect_shape(z, "edges", {-1, 2});
  check_edges(z, "edges", 2 * z.shape("edges")[0]);
  Dataset data;
  data.name = stem(z);
  {
    const auto [src, dst] = detail::edges_of(indices(z, "edges", {-1, 2}, 0, nodes - 1));
    data.graph = Graph(to_undirected(Graph::from_coo(nodes, src, dst)).relation());
  }
  data.undirected = true;
  data.x = Features(finite(z, "node_features", {nodes, -1}));
  set_classes(data, z, "node_labels");
  set_masks(data, z, {"train_masks", "val_masks", "test_masks"}, true);
  return data;
}

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

constexpr std::string_view kEnd = "_data.npz";

/// The graph file that belongs to the node file.
std::string graph_beside(const NpzReader& z) {
  std::string base = z.file();
  if (!base.ends_with(kEnd))
    data_fail(
        "{}: features and labels of Reddit, expected a name that ends in {}, and the graph in the same "
        "folder",
        excerpt(z.file()), kEnd);
  base.resize(base.size() - kEnd.size());
  for (const char* end : {"_graph.npz", "_self_loop_graph.npz"})
    if (std::filesystem::exists(base + end)) return base + end;
  data_fail("{}: expected {}_graph.npz or {}_self_loop_graph.npz in the same folder", excerpt(z.file()),
            excerpt(base), excerpt(base));
}

/// Reads a matrix of scipy.sparse.save_npz; entry (i, j) is an edge from i to j.
Graph read_graph(const NpzReader& z, int64_t nodes) {
  const std::string format = z.text("format");
  if (format != "coo" && format != "csr")
    z.fail("format", "\"{}\", expected a sparse matrix as coo or csr", format);
  const auto [rows, cols] = matrix_shape(z, "shape");
  if (rows != nodes || cols != nodes)
    z.fail("shape", "{} by {}, but the features have {} rows", rows, cols, nodes);
  Tensor src, dst;
  const char* counted = format == "coo" ? "row" : "indices";
  expect_shape(z, counted, {-1});
  check_edges(z, counted, z.shape(counted)[0]);
  if (format == "coo") {
    src = indices(z, "row", {-1}, 0, nodes - 1);
    dst = indices(z, "col", {src.numel()}, 0, nodes - 1);
  } else {
    const Csr matrix = csr(z, "", nodes, nodes);
    src = rows_of(matrix);
    dst = matrix.indices;
  }
  expect_shape(z, "data", {src.numel()});  // values are ignored
  Graph graph = Graph::from_coo(nodes, src, dst);
  src = dst = {};
  return Graph(coalesce(graph).relation());
}

Dataset read_reddit(const NpzReader& z) {
  const int64_t nodes = nodes_with_features(z, "feature");
  Dataset data;
  data.name = stem(z);
  data.name.resize(data.name.size() - std::min(data.name.size(), kEnd.size() - 4));
  data.graph = read_graph(NpzReader::open(graph_beside(z)), nodes);
  data.undirected = data.graph.is_symmetric();
  data.x = Features(finite(z, "feature", {nodes, -1}));
  set_classes(data, z, "label");
  const Tensor types = indices(z, "node_types", {nodes}, 0, 3);
  Splits splits(z, data, 1);
  for (int64_t i = 0; i < nodes; ++i)
    if (const int32_t type = types.data<int32_t>()[i]; type != 0) splits.mark("node_types", 0, i, type);
  splits.put_into(data, {"node_types", "node_types", "node_types"});
  return data;
}

Dataset read(const NpzReader& z, const std::string& path) {
  if (z.has("node_features") && z.has("edges")) return read_heterophilous(z);
  if (z.has("adj_indptr")) return read_gnn_benchmark(z);
  if (z.has("feature") && z.has("node_types")) return read_reddit(z);
  if (z.has("edge_index")) return read_plain(z);
  if (z.has("format") && z.has("shape"))
    data_fail(
        "{}: one sparse matrix; for Reddit, convert the file of the features, reddit_data.npz, in the same "
        "folder",
        excerpt(path));
  data_fail("{}: arrays {}, expected those of heterophilous-graphs, gnn-benchmark, Reddit, or edge_index",
            excerpt(path), excerpt(fmt::format("{}", fmt::join(z.names(), ", "))));
}

}  // namespace

}  // namespace npz

Dataset import_npz(const std::string& path, std::vector<std::string>* notes) {
  const NpzReader z = NpzReader::open(path);
  Dataset data = npz::read(z, path);
  if (notes == nullptr) return data;
  for (const auto& [name, rounding] : z.rounding())
    notes->push_back(fmt::format("{}: {}: {}", excerpt(path), excerpt(name), rounding.text("number")));
  if (data.task != Task::node_class) return data;
  std::vector<bool> has_nodes(static_cast<size_t>(data.classes));
  for (const int32_t label : data.y.to_vector<int32_t>())
    if (label >= 0) has_nodes[static_cast<size_t>(label)] = true;
  const int64_t absent = std::ranges::count(has_nodes, false);
  std::vector<std::string> some;
  for (size_t label = 0; label < has_nodes.size() && some.size() < 5; ++label)
    if (!has_nodes[label]) some.push_back(std::to_string(label));
  if (absent > 0)
    notes->push_back(fmt::format("{}: {} classes, as labels are numbers from 0, but no node has {}{}",
                                 excerpt(path), data.classes, fmt::join(some, ", "),
                                 absent > 5 ? fmt::format(" and {} more", absent - 5) : ""));
  return data;
}

}  // namespace adj
