#include <adjoint/core/error.h>
#include <adjoint/graph/laplacian.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/models/node_features.h>
#include <adjoint/models/positional_encoding.h>

#include <cmath>

#include <fmt/format.h>

namespace adj::models {

namespace {

Tensor laplacian(const Graph& graph, int64_t columns, std::string* note) {
  const LaplacianEigenvectors found = laplacian_eigenvectors(graph.relation(), columns);
  if (note != nullptr)
    *note = fmt::format("; {} component{}{}", found.components, found.components == 1 ? "" : "s",
                        found.products > 0
                            ? fmt::format(", {} products with the Laplacian to a residual of {:.0e}",
                                          found.products, found.residual)
                            : "");
  std::vector<float> scaled = found.vectors.to_vector<float>();
  const std::vector<float> sizes = found.component_sizes.to_vector<float>();
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= std::sqrt(sizes[i / static_cast<size_t>(columns)]);
  return Tensor::from(scaled, {graph.num_nodes(), columns}, graph.device());
}

Tensor log_degrees(const Graph& graph) {
  const std::vector<float> degrees = node_features(NodeFeatures::degree, graph).dense().to_vector<float>();
  std::vector<float> logs(degrees.size());
  for (size_t i = 0; i < logs.size(); ++i) logs[i] = std::log1p(degrees[i]);
  return Tensor::from(logs, {std::ssize(logs), 1}, graph.device());
}

SparseMatrix with_columns(const SparseMatrix& x, const Tensor& encoding) {
  const Csr& csr = x.relation().csr();
  const auto offsets = csr.offsets.to_vector<int64_t>();
  const auto columns = csr.indices.to_vector<int32_t>();
  const std::vector<float> by_edge = x.values() ? x.values().to_vector<float>() : std::vector<float>(),
                           added = encoding.to_vector<float>();
  std::vector<float> values(columns.size(), 1.0f);
  if (!by_edge.empty()) {
    const Tensor& order = x.relation().csr_order();
    const auto edges = order ? order.to_vector<int32_t>() : std::vector<int32_t>();
    for (size_t k = 0; k < values.size(); ++k) values[k] = by_edge[order ? static_cast<size_t>(edges[k]) : k];
  }
  const auto width = static_cast<size_t>(encoding.size(1));
  std::vector<int64_t> ends{0};
  std::vector<int32_t> indices;
  std::vector<float> numbers;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(offsets[i]),
               last = static_cast<std::ptrdiff_t>(offsets[i + 1]);
    indices.insert(indices.end(), columns.begin() + first, columns.begin() + last);
    numbers.insert(numbers.end(), values.begin() + first, values.begin() + last);
    for (size_t k = 0; k < width; ++k) {
      indices.push_back(static_cast<int32_t>(x.cols() + static_cast<int64_t>(k)));
      numbers.push_back(added[i * width + k]);
    }
    ends.push_back(std::ssize(indices));
  }
  return SparseMatrix::from_csr(x.rows(), x.cols() + encoding.size(1), ends, indices, numbers).to(x.device());
}

}  // namespace

int64_t positional_columns(const ModelOptions& o) {
  return o.positional == Positional::none ? 0 : o.positional == Positional::degree ? 1 : o.positional_size;
}

Tensor positional_encoding(const Graph& graph, const ModelOptions& o, std::string* note) {
  switch (o.positional) {
    case Positional::laplacian:
      return laplacian(graph, o.positional_size, note);
    case Positional::random_walk:
      return node_features(NodeFeatures::random_walk, graph, o.positional_size).dense();
    case Positional::degree:
      return log_degrees(graph);
    default:
      fail("positional encoding: expected laplacian, random-walk or degree, got '{}'", name_of(o.positional));
  }
}

Features with_encoding(const Features& x, const Tensor& encoding) {
  if (!x) return Features(encoding);
  ADJ_CHECK(x.rows() == encoding.size(0), "positional encoding: {} rows beside features of {}",
            encoding.size(0), x.rows());
  if (x.is_sparse()) return with_columns(x.sparse(), encoding);
  const Tensor dense = x.dense();
  Tensor both = Tensor::empty({x.rows(), x.cols() + encoding.size(1)}, dense.dtype(), dense.device());
  const Tensor parts[] = {dense, encoding.to(dense.dtype()).to(dense.device())};
  kernels::concat_columns({.parts = parts, .y = both});
  return Features(both);
}

}  // namespace adj::models
