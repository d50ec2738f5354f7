#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/joint_dataset.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj {

namespace {

const ItemTable& items_of(const TypedDataset& dataset, const std::string& type) {
  const auto items = dataset.nodes.find(type);
  ADJ_CHECK(items != dataset.nodes.end(), "dataset {}: no nodes of type \"{}\", expected one of: {}",
            dataset.name, type, fmt::join(dataset.graph.node_types(), ", "));
  return items->second;
}

}  // namespace

Dataset nodes_alone(const TypedDataset& dataset, const std::string& type) {
  Dataset alone;
  static_cast<ItemTable&>(alone) = items_of(dataset, type);
  alone.name = dataset.name;
  const Tensor none = Tensor::empty({0}, DType::i32);
  alone.graph = Graph::from_coo(dataset.num_nodes(type), none, none);
  return alone;
}

TypedDataset with_types(const Dataset& dataset) {
  EdgeAttributes attributes = dataset.graph.edge_attributes();
  if (dataset.graph.edge_weight()) attributes.emplace("weight", dataset.graph.edge_weight());
  const EdgeType type{"node", "edge", "node"};
  return {dataset.name,
          HeteroGraph({{"node", dataset.num_nodes()}}, {{type, {dataset.graph.relation(), attributes}}}),
          {{"node", dataset}},
          {{type, {}}}};
}

std::string target_type(const TypedDataset& dataset, const std::string& wanted, const std::string& file) {
  std::vector<std::string> labelled;
  for (const auto& [type, items] : dataset.nodes)
    if (items.task != Task::none && items.y) labelled.push_back(type);
  if (labelled.empty()) data_fail("{}: no type of nodes has labels", file);
  if (!wanted.empty() && std::ranges::find(labelled, wanted) == labelled.end())
    usage_fail("--target {}: expected a type of nodes with labels, one of: {}", wanted,
               fmt::join(labelled, ", "));
  if (wanted.empty() && labelled.size() > 1)
    data_fail("{}: several types of nodes have labels, expected --target with one of: {}", file,
              fmt::join(labelled, ", "));
  return wanted.empty() ? labelled.front() : wanted;
}

Dataset named_by_types(const TypedDataset& dataset, const std::vector<std::string>& types) {
  std::vector<std::string> names;
  for (const std::string& type : types)
    for (const std::string& name : detail::names_of(items_of(dataset, type), dataset.num_nodes(type)))
      names.push_back(type + ":" + name);
  return detail::named_rows(dataset.name, names);
}

GraphSchema schema_of(const TypedDataset& dataset, const std::vector<std::string>& targets, bool reverse) {
  GraphSchema schema;
  const auto add = [&](const std::string& type) {
    schema.nodes.push_back({type, dataset.num_nodes(type), items_of(dataset, type).num_features()});
  };
  for (const std::string& type : targets) add(type);
  for (const std::string& type : dataset.graph.node_types())
    if (std::ranges::find(targets, type) == targets.end()) add(type);
  schema.targets = targets.size();
  schema.relations = relations_of(dataset.graph, reverse);
  return schema;
}

Dataset joint_dataset(const TypedDataset& dataset, const GraphSchema& schema, const NodeNumbers& numbers) {
  const std::string& target = schema.nodes.front().name;
  Dataset joint;
  if (!numbers.contains(target)) {
    static_cast<ItemTable&>(joint) = items_of(dataset, target);
    if (joint.y) joint.y = detail::with_unlabelled(joint.y, schema.num_nodes());
    joint.feature_names.clear();
    joint.encoder = {};
    joint.times = {};
  }
  joint.name = dataset.name;
  const Graph graph = join(dataset.graph, schema, numbers);
  // Without input_order, which is as large as the graph, and of a list that nobody gave.
  joint.graph = Graph(graph.relation(), graph.edge_weight(), graph.edge_attributes());
  TypedFeatures rows;
  joint.x_in_file = {};
  for (const GraphSchema::Nodes& type : schema.nodes) {
    const ItemTable& items = items_of(dataset, type.name);
    rows.counts.push_back(type.count);
    rows.x.push_back(type.features > 0 && items.x ? items.x.to_dense() : Tensor());
    joint.x_in_files.push_back(type.features > 0 ? items.x_in_file : FileRows());
  }
  rows.types = Tensor::empty({schema.num_nodes()}, DType::i32);
  const std::vector<int64_t> offsets = schema.offsets();
  for (size_t t = 0; t < schema.nodes.size(); ++t)
    rows.types.rows(offsets[t], offsets[t + 1]).fill_(static_cast<double>(t));
  joint.x = Features(std::move(rows));
  return joint;
}

}  // namespace adj
