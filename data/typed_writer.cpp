#include <adjoint/core/text.h>
#include <adjoint/data/detail/loadable.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/typed_dataset.h>

#include <algorithm>
#include <set>

namespace adj {

namespace {

using detail::ItemPaths;

/// Distinct names of groups: that of the type where it is a plain word, else a number.
class GroupNames {
 public:
  explicit GroupNames(std::string parent) : parent_(std::move(parent)) {}

  std::string add(const std::string& name) {
    const bool plain =
        !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                 c == '-';
        });
    std::string group = plain ? name : std::to_string(count_++);
    while (taken_.contains(group)) group = std::to_string(count_++);
    taken_.insert(group);
    return parent_ + "/" + group;
  }

 private:
  std::string parent_;
  std::set<std::string> taken_;
  int64_t count_ = 0;
};

void write_task(H5Writer& file, const std::string& group, const ItemTable& items, bool edges) {
  if (items.task == Task::none) return;
  std::string task(name_of(items.task));
  if (edges && task.starts_with("node_")) task.replace(0, 5, "edge_");
  file.attribute(group, "task", task);
  if (items.classes > 0 || items.task == Task::node_class)
    file.attribute(group, "num_classes", items.classes);
}

void expect_name(const std::string& path, const std::string& place, const std::string& name) {
  if (name.empty() || !is_utf8(name) || name.find('\0') != std::string::npos)
    data_fail("{}: {}: \"{}\", expected a name in UTF-8", excerpt(path), place, excerpt(name));
}

}  // namespace

void save_typed_dataset(const TypedDataset& dataset, const std::string& path, int gzip) {
  const HeteroGraph& graph = dataset.graph;
  ADJ_CHECK(graph, "save_typed_dataset {}: the dataset has no graph", path);
  std::vector<std::pair<std::string, std::string>> nodes;  // types and groups
  std::vector<std::pair<EdgeType, std::string>> edges;
  GroupNames node_groups("nodes"), edge_groups("edges");
  for (const std::string& type : graph.node_types()) {
    ADJ_CHECK(dataset.nodes.contains(type), "save_typed_dataset {}: no items of nodes \"{}\"", path, type);
    ADJ_CHECK(!dataset.nodes.find(type)->second.x_in_file,
              "save_typed_dataset {}: the features of \"{}\" are left in a file, expected them in memory",
              path, type);
    nodes.emplace_back(type, node_groups.add(type));
    expect_name(path, nodes.back().second, type);
    detail::expect_loadable(dataset.nodes.find(type)->second, graph.num_nodes(type), graph.num_edges(),
                            ItemPaths::nodes(nodes.back().second), path);
  }
  for (const EdgeType& type : graph.edge_types()) {
    const auto items = dataset.edges.find(type);
    ADJ_CHECK(items != dataset.edges.end(), "save_typed_dataset {}: no items of edges {}", path, type.str());
    ADJ_CHECK(!items->second.x.is_sparse(), "save_typed_dataset {}: sparse attributes of edges {}", path,
              type.str());
    edges.emplace_back(type, edge_groups.add(type.name));
    expect_name(path, edges.back().second, type.name);
    const int64_t count = graph.relation(type).num_edges();
    if (count > 0)
      detail::expect_loadable(items->second, count, count, ItemPaths::edges(edges.back().second), path);
  }

  H5Writer file(path, gzip);
  file.attribute("", "format", std::string("adjoint.graph"));
  file.attribute("", "version", int64_t{2});
  file.attribute("", "name", detail::utf8_name(dataset.name));
  for (const auto& [type, group] : nodes) {
    file.attribute(group, "name", type);
    file.attribute(group, "num_nodes", graph.num_nodes(type));
    const ItemTable& items = dataset.nodes.find(type)->second;
    write_task(file, group, items, false);
    detail::write_items(file, items, ItemPaths::nodes(group));
  }
  for (const auto& [type, group] : edges) {
    file.attribute(group, "source", type.src);
    file.attribute(group, "name", type.name);
    file.attribute(group, "target", type.dst);
    const EdgeIndex index = graph.relation(type).edge_index();
    file.write(group + "/src", index.src);
    file.write(group + "/dst", index.dst);
    const EdgeAttributes& attributes = graph.edge_attributes(type);
    if (const auto weight = attributes.find("weight"); weight != attributes.end())
      file.write(group + "/weight", weight->second);
    const ItemTable& items = dataset.edges.at(type);
    write_task(file, group, items, true);
    detail::write_items(file, items, ItemPaths::edges(group));
  }
  file.commit();
}

}  // namespace adj
