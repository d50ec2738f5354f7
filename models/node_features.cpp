#include <adjoint/core/error.h>
#include <adjoint/models/node_features.h>

#include <algorithm>
#include <numeric>

namespace adj::models {

Features node_features(NodeFeatures kind, const Graph& graph, int64_t width) {
  const int64_t nodes = graph.num_nodes();
  if (kind == NodeFeatures::constant) return Features(Tensor::full({nodes, 1}, 1.0)).to(graph.device());
  ADJ_CHECK(kind == NodeFeatures::degree, "node features: expected constant or degree, got '{}'",
            name_of(kind));
  // Column d marks the nodes with d in-edges.
  const std::vector<int64_t> offsets = graph.in_edges().offsets.to_vector<int64_t>();
  std::vector<int32_t> columns;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    columns.push_back(static_cast<int32_t>(offsets[i + 1] - offsets[i]));
  const int32_t most = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end());
  ADJ_CHECK(width == 0 || most < width, "a node with {} in-edges, expected {} at most, as in the training",
            most, width - 1);
  std::vector<int64_t> rows(offsets.size());
  std::iota(rows.begin(), rows.end(), int64_t{0});
  const std::vector<float> ones(columns.size(), 1.0f);
  return Features(SparseMatrix::from_csr(nodes, width > 0 ? width : most + 1, rows, columns, ones))
      .to(graph.device());
}

}  // namespace adj::models
