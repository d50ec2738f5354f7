#include "summary.h"

#include <adjoint/core/text.h>

#include <algorithm>

namespace adj::apps {

void print_summary(const std::string& path, const Dataset& data) {
  const Csr& in = data.graph.in_edges();
  const int64_t* offsets = in.offsets.data<int64_t>();
  const int32_t* sources = in.indices.data<int32_t>();
  std::vector<int32_t> out(static_cast<size_t>(data.num_nodes()));
  for (int64_t e = 0; e < data.graph.num_edges(); ++e) ++out[static_cast<size_t>(sources[e])];
  int64_t fewest = data.graph.num_edges(), most = 0, isolated = 0;
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    const int64_t degree = offsets[i + 1] - offsets[i];
    fewest = std::min(fewest, degree);
    most = std::max(most, degree);
    isolated += degree == 0 && out[static_cast<size_t>(i)] == 0;
  }
  const auto [least, largest] = std::minmax_element(out.begin(), out.end());
  fmt::print("{}: {} nodes, {} directed edges, {} features, {} classes\n", printable(path), data.num_nodes(),
             data.graph.num_edges(), data.num_features(), data.num_classes());
  fmt::print("in-degrees {} to {}, out-degrees {} to {}, {} isolated nodes, {}\n", fewest, most, *least,
             *largest, isolated, data.undirected ? "symmetric" : "not symmetric");
}

}  // namespace adj::apps
