#include <adjoint/core/random.h>
#include <adjoint/data/random_dataset.h>

#include <algorithm>
#include <numeric>

namespace adj {

namespace {

/// 0 … n - 1 in the order of random keys.
std::vector<int32_t> shuffled(int64_t n, Generator& generator) {
  const std::vector<double> keys = random_uniform({n}, 0.0, 1.0, generator, DType::f64).to_vector<double>();
  std::vector<int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace

Dataset make_random_dataset(const EdgeList& edges, int64_t features, int64_t classes, uint64_t seed) {
  ADJ_CHECK(edges.nodes >= 5 && features >= 1 && classes >= 1,
            "random dataset: {} nodes, {} features, {} classes; expected 5, 1 and 1 or more", edges.nodes,
            features, classes);
  Generator generator(seed);
  Dataset data;
  data.name = "random";
  data.task = Task::node_class;
  data.classes = classes;
  data.graph = Graph::from_coo(edges.nodes, Tensor::from(edges.src), Tensor::from(edges.dst));
  data.undirected = data.graph.is_symmetric();
  data.x = Features(random_normal({edges.nodes, features}, 0.0, 1.0, generator));
  std::vector<int32_t> y;
  for (double u : random_uniform({edges.nodes}, 0.0, 1.0, generator, DType::f64).to_vector<double>())
    y.push_back(
        std::min(static_cast<int32_t>(u * static_cast<double>(classes)), static_cast<int32_t>(classes - 1)));
  data.y = Tensor::from(y);
  const Tensor order = Tensor::from(shuffled(edges.nodes, generator));
  const int64_t part = edges.nodes / 5;
  data.splits = {{order.rows(2 * part, edges.nodes), order.rows(0, part), order.rows(part, 2 * part)}};
  data.use_split(0);
  return data;
}

}  // namespace adj
