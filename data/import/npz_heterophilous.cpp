#include <adjoint/data/import/detail/edge_rows.h>
#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/graph/transforms.h>

namespace adj::npz {

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

}  // namespace adj::npz
