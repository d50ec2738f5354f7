#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace adj::apps {

namespace {

StructureStatistics structure_of(const Graph& graph) {
  StructureStatistics s;
  const Degrees degrees(graph);
  const Csr& edges = graph.in_edges();
  const int64_t* offsets = edges.offsets.data<int64_t>();
  const int32_t* sources = edges.indices.data<int32_t>();
  s.symmetric = degrees.symmetric();
  if (s.symmetric && graph.edge_weight()) s.symmetric_weights = graph.is_symmetric();
  for (int64_t i = 0; i < graph.num_nodes(); ++i) {
    const int64_t in = degrees.in(i), out = degrees.out(i);
    ++s.in[in];
    ++s.out[out];
    s.isolated += in == 0 && out == 0;
    if (in + out > 0) s.used = i + 1;
    for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      s.self_loops += sources[e] == i;
      s.parallel += e > offsets[i] && sources[e] == sources[e - 1];
    }
  }
  return s;
}

LabelStatistics label_statistics(const Dataset& data) {
  const Tensor& y = labels_of(data);
  LabelStatistics l;
  l.rows = y.size(0);
  if (!is_floating(y.dtype())) {
    for (int64_t i = 0; i < y.numel(); ++i)
      if (const int32_t label = y.data<int32_t>()[i]; label != -1) ++l.classes[label];
    return l;
  }
  const int64_t columns = y.size(1);
  const bool binary = data.task == Task::node_multilabel;
  const double inf = std::numeric_limits<double>::infinity();
  if (binary) l.positive.resize(static_cast<size_t>(columns));
  if (!binary) l.ranges.assign(static_cast<size_t>(columns), {inf, -inf});
  for (int64_t k = 0; k < y.numel(); ++k) {
    const float value = y.data<float>()[k];
    if (std::isnan(value)) continue;
    const auto column = static_cast<size_t>(k % columns);
    if (binary) l.positive[column] += value == 1.0f;
    if (binary) continue;
    auto& [least, largest] = l.ranges[column];
    least = std::min(least, static_cast<double>(value));
    largest = std::max(largest, static_cast<double>(value));
  }
  return l;
}

GraphStatistics graph_statistics(const Tensor& offsets) {
  GraphStatistics g;
  const int64_t* ends = offsets.data<int64_t>();
  g.count = offsets.numel() - 1;
  g.least = ends[1] - ends[0];
  for (int64_t k = 0; k < g.count; ++k) {
    const int64_t nodes = ends[k + 1] - ends[k];
    g.least = std::min(g.least, nodes);
    g.largest = std::max(g.largest, nodes);
    g.empty += nodes == 0;
  }
  return g;
}

}  // namespace

const Tensor& labels_of(const Dataset& data) {
  static const Tensor none;
  if (data.task == Task::none) return none;
  return data.labels();
}

std::vector<TileStatistics> tiles_of(const Csr& in_edges) {
  std::vector<TileStatistics> tiles;
  for (int64_t height : {8, 16, 64, 128, 1024})
    tiles.push_back({height, 1, window_reuse(in_edges, height, 1, {1, 2, 3, 4, 8})});
  for (int64_t side : {64, 128}) {
    const int64_t cells = side * side;
    tiles.push_back(
        {side, side, window_reuse(in_edges, side, side, {1, cells / 2, cells / 4, cells / 8, cells / 16})});
  }
  return tiles;
}

Statistics statistics_of(const Dataset& data) {
  Statistics s;
  if (data.graph) s.structure = structure_of(data.graph);
  if (data.x) s.features = summary_of(data.x);
  if (labels_of(data)) s.labels = label_statistics(data);
  if (data.graph_offsets) s.graphs = graph_statistics(data.graph_offsets);
  return s;
}

}  // namespace adj::apps
