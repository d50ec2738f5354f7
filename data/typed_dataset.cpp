#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/typed_dataset.h>

#include <fmt/ranges.h>

namespace adj {

std::string text_of(const EdgeType& type) { return fmt::format("{}:{}:{}", type.src, type.name, type.dst); }

TypedDataset TypedDataset::to(Device device) const {
  TypedDataset moved{name, graph.to(device), {}, {}};
  for (const auto& [type, items] : nodes) moved.nodes.emplace(type, items.to(device));
  for (const auto& [type, items] : edges) moved.edges.emplace(type, items.to(device));
  return moved;
}

EdgeType TypedDataset::edge_type(std::string_view wanted) const {
  std::vector<EdgeType> found;
  std::vector<std::string> all;
  for (const EdgeType& type : graph.edge_types()) {
    all.push_back(text_of(type));
    if (type.name == wanted || all.back() == wanted) found.push_back(type);
  }
  ADJ_CHECK(!found.empty(), "dataset {}: no edges of type \"{}\", expected one of: {}", name, wanted,
            fmt::join(all, ", "));
  if (found.size() == 1) return found[0];
  all.clear();
  for (const EdgeType& type : found) all.push_back(text_of(type));
  fail("dataset {}: several types of edges \"{}\", expected one of: {}", name, wanted, fmt::join(all, ", "));
}

Dataset TypedDataset::homogeneous(const EdgeType& type) const {
  ADJ_CHECK(type.src == type.dst, "dataset {}: {} are edges from {} to {}, expected nodes of one type", name,
            text_of(type), type.src, type.dst);
  Dataset data;
  static_cast<ItemTable&>(data) = nodes.at(type.src);
  data.name = name;
  const EdgeIndex index = graph.relation(type).edge_index();
  EdgeAttributes attributes = graph.edge_attributes(type);
  Tensor weight;
  if (const auto found = attributes.find("weight"); found != attributes.end()) {
    weight = found->second;
    attributes.erase(found);
  }
  const ItemTable& items = edges.at(type);
  if (items.times) attributes.emplace("time", items.times);
  data.attr_names = items.feature_names;
  data.attr_encoder = items.encoder;
  data.graph = Graph::from_coo(num_nodes(type.src), index.src, index.dst, weight, attributes);
  data.undirected = data.graph.is_symmetric();
  if (items.y && data.task == Task::none && items.task != Task::node_multilabel) {
    data.task = items.task == Task::node_class ? Task::edge_class : Task::edge_regression;
    data.classes = items.classes;
    data.class_names = items.class_names;
    data.edge_y = items.y;
    data.unlabelled = items.unlabelled;
    data.splits = items.splits;
    detail::number_edges(data);
  }
  data.use_first_split();
  return data;
}

}  // namespace adj
