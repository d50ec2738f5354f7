#include "subject.h"

#include <adjoint/graph/generators.h>

namespace adj::apps {

Dataset load_subject(const std::string& path) {
  Dataset data = load_dataset(path);
  if (!data.splits.empty()) data.use_split(0);
  return data;
}

Dataset generate_subject(const std::string& graph, int64_t features, int64_t classes, uint64_t seed) {
  const EdgeList edges = named_graph(graph, seed);
  Generator generator(seed);
  Dataset data;
  data.name = graph;
  data.task = Task::node_class;
  data.classes = classes;
  data.graph = Graph::from_coo(edges.nodes, Tensor::from(edges.src), Tensor::from(edges.dst));
  data.x = Features(random_normal({edges.nodes, features}, 0.0, 1.0, generator));
  data.y = random_uniform({edges.nodes}, 0.0, static_cast<double>(classes), generator).to(DType::i32);
  std::vector<int32_t> train, rest;
  for (int64_t i = 0; i < edges.nodes; ++i) (i % 2 == 0 ? train : rest).push_back(static_cast<int32_t>(i));
  data.train = Tensor::from(train);
  data.val = data.test = Tensor::from(rest);
  return data;
}

}  // namespace adj::apps
