#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/graph/transforms.h>

#include <filesystem>

namespace adj::npz {

namespace {

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

}  // namespace

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

}  // namespace adj::npz
