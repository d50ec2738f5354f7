#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/shape_text.h>
#include <adjoint/data/import/detail/npz_fields.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace adj::npz {

namespace {

constexpr std::string_view kNames[] = {"edge_index", "num_nodes",  "x",        "y",        "edge_weight",
                                       "edge_attr",  "train_mask", "val_mask", "test_mask"};

/// From num_nodes, x and y, which must agree; without them, from the edges.
int64_t count_nodes(const NpzReader& z, const Tensor& edge_index) {
  std::optional<int64_t> nodes;
  std::string_view origin;
  const int64_t most_bare = detail::most_bare_nodes(edge_index.size(1));
  for (std::string_view name : {"x", "y"}) {
    if (!z.has(name)) continue;
    if (z.shape(name).empty()) z.fail(name, "one number, expected one row per node");
    if (z.shape(name).size() == 2 && z.shape(name)[1] == 0)
      z.fail(name, "shape [{}, 0], expected at least one column", z.shape(name)[0]);
    const int64_t rows = z.shape(name)[0];
    if (nodes && rows != *nodes) z.fail(name, "{} rows, but {} has {}", rows, origin, *nodes);
    nodes = rows;
    origin = name;
  }
  if (z.has("num_nodes")) {
    const int64_t count = z.integer("num_nodes");
    if (nodes && count != *nodes) z.fail("num_nodes", "{}, but {} has {} rows", count, origin, *nodes);
    if (!nodes && count > most_bare)
      z.fail("num_nodes", "{}, but nothing in the file has that many nodes", count);
    nodes = count;
    origin = "num_nodes";
  }
  if (!nodes) {
    const int32_t* ids = edge_index.data<int32_t>();
    nodes = edge_index.numel() == 0 ? 0 : int64_t{*std::max_element(ids, ids + edge_index.numel())} + 1;
    origin = "edge_index";
    if (*nodes > most_bare)
      z.fail(origin, "node {}, but nothing in the file has that many nodes", *nodes - 1);
  }
  check_nodes(z, origin, *nodes);
  return *nodes;
}

/// Labels [N, T] of 0 and 1 with one 1 in every row, or NaN in all of it, are classes.
bool is_one_hot(const float* y, int64_t nodes, int64_t columns) {
  if (columns < 2) return false;
  for (int64_t i = 0; i < nodes; ++i) {
    const float* const row = y + i * columns;
    const int64_t ones = std::count(row, row + columns, 1.0f), zeros = std::count(row, row + columns, 0.0f);
    const int64_t gaps = std::count_if(row, row + columns, [](float v) { return std::isnan(v); });
    if (!(ones == 1 && zeros == columns - 1) && gaps != columns) return false;
  }
  return true;
}

void set_labels(Dataset& data, const NpzReader& z) {
  const int64_t nodes = data.num_nodes();
  const std::vector<int64_t>& shape = z.shape("y");
  if (shape.size() > 2) expect_shape(z, "y", {nodes, -1});
  const bool single = shape.size() == 1 || shape[1] == 1;
  if (z.is_integer("y") && single) return set_classes(data, z, "y");
  data.y = (shape.size() == 1 ? z.tensor("y", DType::f32, {nodes}) : z.tensor("y", DType::f32, {nodes, -1}))
               .reshape({nodes, -1});
  const float* y = data.y.data<float>();
  const int64_t columns = data.y.size(1);
  const auto place = [&](int64_t k) { return detail::place_text({nodes, columns}, k); };
  bool binary = !single;
  for (int64_t k = 0; k < data.y.numel(); ++k) {
    const bool bit = y[k] == 0.0f || y[k] == 1.0f;
    if (z.is_integer("y") && !bit) z.fail("y", "{} at {}, expected 0 or 1", y[k], place(k));
    if (std::isinf(y[k]))
      z.fail("y", "{} at {}, expected finite numbers, or nan for no label", y[k], place(k));
    binary = binary && (bit || std::isnan(y[k]));
  }
  data.task = binary ? Task::node_multilabel : Task::node_regression;
  data.unlabelled = detail::count_unlabelled(data.y);
  if (!binary || data.unlabelled == nodes || !is_one_hot(y, nodes, columns)) return;
  Tensor classes = Tensor::full({nodes}, -1, DType::i32);
  for (int64_t k = 0; k < data.y.numel(); ++k)
    if (y[k] == 1.0f) classes.mutable_data<int32_t>()[k / columns] = static_cast<int32_t>(k % columns);
  data.task = Task::node_class;
  data.y = classes;
  data.classes = columns;
}

}  // namespace

Dataset read_plain(const NpzReader& z) {
  for (const std::string& name : z.names())
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      z.fail(name, "unknown in a file with edge_index, expected {}", fmt::join(kNames, ", "));
  expect_shape(z, "edge_index", {2, -1});
  check_edges(z, "edge_index", z.shape("edge_index")[1]);
  Dataset data;
  data.name = stem(z);
  {
    const Tensor ends = indices(z, "edge_index", {2, -1}, 0, kMost);
    const int64_t nodes = count_nodes(z, ends), edges = ends.size(1);
    for (int64_t k = 0; k < ends.numel(); ++k)
      if (const int32_t id = ends.data<int32_t>()[k]; id >= nodes)
        z.fail("edge_index", "{} at {}, expected 0 to {}", id, detail::place_text({2, edges}, k), nodes - 1);
    Tensor weight;
    EdgeAttributes attributes;
    if (z.has("edge_weight")) weight = finite(z, "edge_weight", {edges});
    if (z.has("edge_attr") && z.shape("edge_attr").size() == 2 && z.shape("edge_attr")[1] == 0)
      z.fail("edge_attr", "shape [{}, 0], expected at least one column", z.shape("edge_attr")[0]);
    if (z.has("edge_attr")) attributes.emplace("attr", finite(z, "edge_attr", {edges, -1}));
    data.graph = Graph::from_coo(nodes, ends.rows(0, 1).reshape({edges}), ends.rows(1, 2).reshape({edges}),
                                 weight, attributes);
  }
  data.undirected = data.graph.is_symmetric();
  if (z.has("x")) data.x = Features(finite(z, "x", {data.num_nodes(), -1}));
  if (z.has("y")) set_labels(data, z);
  if (z.has("train_mask") || z.has("val_mask") || z.has("test_mask"))
    set_masks(data, z, {"train_mask", "val_mask", "test_mask"}, false);
  data.use_first_split();
  return data;
}

}  // namespace adj::npz
