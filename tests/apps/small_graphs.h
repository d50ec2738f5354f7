#pragma once

#include <adjoint/data/dataset.h>

#include <vector>

namespace adj::test {

inline constexpr int64_t kGraphs = 40;

/// Cycles (class 0) and stars (class 1) of 5 to 9 nodes, separable by degree: features are a node's degree,
/// up to 2 and above.
inline Dataset small_graphs() {
  std::vector<int32_t> src, dst, label;
  std::vector<int64_t> offsets{0};
  std::vector<float> x;
  for (int64_t g = 0; g < kGraphs; ++g) {
    const int64_t nodes = 5 + g / 2 % 5, first = offsets.back();
    const auto edge = [&](int64_t a, int64_t b) {
      src.insert(src.end(), {static_cast<int32_t>(first + a), static_cast<int32_t>(first + b)});
      dst.insert(dst.end(), {static_cast<int32_t>(first + b), static_cast<int32_t>(first + a)});
    };
    for (int64_t i = 1; i < nodes; ++i) edge(g % 2 == 0 ? i - 1 : 0, i);
    if (g % 2 == 0) edge(nodes - 1, 0);
    for (int64_t i = 0; i < nodes; ++i) {
      const int64_t kind = g % 2 == 0 ? 1 : i == 0 ? 2 : 0;
      for (int64_t k = 0; k < 3; ++k) x.push_back(k == kind ? 1.0f : 0.0f);
    }
    label.push_back(static_cast<int32_t>(g % 2));
    offsets.push_back(first + nodes);
  }
  Dataset data;
  data.name = "shapes";
  data.task = Task::graph_class;
  data.classes = 2;
  data.undirected = true;
  data.graph = Graph::from_coo(offsets.back(), Tensor::from(src), Tensor::from(dst));
  data.x = Features(Tensor::from(x, {offsets.back(), 3}));
  data.graph_offsets = Tensor::from(offsets);
  data.graph_y = Tensor::from(label);
  return data;
}

/// Graphs first to last, inclusive.
inline Tensor range(int32_t first, int32_t last) {
  std::vector<int32_t> graphs;
  for (int32_t g = first; g <= last; ++g) graphs.push_back(g);
  return Tensor::from(graphs);
}

/// With two splits of the graphs.
inline Dataset split_graphs() {
  Dataset data = small_graphs();
  data.splits = {{range(0, 19), range(20, 29), range(30, 39)}, {range(20, 39), range(0, 9), range(10, 19)}};
  data.use_split(0);
  return data;
}

}  // namespace adj::test
