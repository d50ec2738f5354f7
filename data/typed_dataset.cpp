#include <adjoint/core/text.h>
#include <adjoint/data/dataset_splits.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/item_paths.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/typed_dataset.h>
#include <adjoint/graph/detail/listed_edges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

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

namespace {

using detail::FileValues;
using detail::ItemPaths;
using detail::kAny;
using detail::kLargest;
using detail::Problems;

H5Reader view(const H5Reader& file, const ItemPaths& paths) {
  return file.renamed([paths](std::string_view path) { return paths.path(path); },
                      [paths](std::string_view place) { return paths.place(place); });
}

class TypedReader {
 public:
  TypedReader(const H5Reader& file, std::vector<std::string>* problems, const LoadOptions& options = {})
      : file_(file),
        options_(options),
        kept_(problems),
        problems_(file, problems),
        values_(file, problems_) {}

  TypedDataset read() {
    (void)detail::read_version(file_, problems_);
    problems_.attempt("attribute name", [&] { data_.name = detail::read_dataset_name(file_); });
    const std::vector<std::string> relations = groups("edges");
    for (const std::string& group : relations)
      problems_.attempt(group, [&] {
        const std::string src = group + "/src";
        if (file_.has(src) && !file_.shape(src).empty()) edges_ += file_.shape(src)[0];
      });
    for (const std::string& group : groups("nodes")) read_nodes(group);
    if (counts_.empty()) problems_.say("nodes", "no type of nodes, expected a group for each");
    for (const std::string& group : relations) problems_.attempt(group, [&] { read_edges(group); });
    problems_.finish();
    data_.graph = HeteroGraph(std::move(counts_), std::move(relations_));
    return std::move(data_);
  }

 private:
  std::vector<std::string> groups(const std::string& parent) const {
    std::vector<std::string> found;
    for (const std::string& name : file_.children(parent))
      if (file_.is_group(parent + "/" + name)) found.push_back(parent + "/" + name);
    return found;
  }

  /// An attribute, or, if it is absent, the group's own name.
  std::string name_in(const std::string& group) const {
    const std::string name =
        file_.has_attribute(group, "name") ? file_.text(group, "name") : group.substr(group.find('/') + 1);
    expect_utf8(group, "name", name);
    return name;
  }
  void expect_utf8(const std::string& group, const char* attribute, const std::string& text) const {
    if (text.empty() || !is_utf8(text))
      file_.fail(fmt::format("attribute {}@{}", group, attribute), "\"{}\", expected a name in UTF-8",
                 excerpt(text));
  }

  void read_nodes(const std::string& group) {
    problems_.attempt(group, [&] {
      const std::string type = name_in(group);
      if (data_.nodes.contains(type))
        file_.fail(group, "another type of nodes \"{}\", expected distinct names", excerpt(type));
      const H5Reader alone = view(file_, ItemPaths::nodes(group));
      detail::DatasetReader reader(alone, kept_, options_);
      ItemTable items = reader.read_nodes_alone(edges_);
      types_.push_back(type);
      if (!reader.num_nodes()) return;
      counts_.emplace(type, *reader.num_nodes());
      data_.nodes.emplace(type, std::move(items));
    });
  }

  std::string end_of(const std::string& group, const char* attribute) const {
    const std::string type = file_.text(group, attribute);
    if (std::find(types_.begin(), types_.end(), type) == types_.end())
      file_.fail(fmt::format("attribute {}@{}", group, attribute),
                 "\"{}\", expected one of the types of nodes: {}", excerpt(type), fmt::join(types_, ", "));
    return type;
  }

  void read_edges(const std::string& group) {
    const EdgeType type{end_of(group, "source"), name_in(group), end_of(group, "target")};
    if (relations_.contains(type))
      file_.fail(group, "another type of edges {}, expected distinct ones", text_of(type));
    if (!counts_.contains(type.src) || !counts_.contains(type.dst)) return;  // reported there
    const int64_t sources = counts_.at(type.src), targets = counts_.at(type.dst);
    const Tensor src = values_.indices(group + "/src", kAny, sources),
                 dst = values_.indices(group + "/dst", kAny, targets);
    if (!src || !dst || problems_.in(group + "/src") || problems_.in(group + "/dst")) return;
    const int64_t count = src.numel();
    if (dst.numel() != count) file_.fail(group + "/dst", "{} edges, but src has {}", dst.numel(), count);
    if (count >= kLargest) file_.fail(group + "/src", "{} edges, expected fewer than {}", count, kLargest);
    const H5Reader alone = view(file_, ItemPaths::edges(group));
    ItemTable items = detail::DatasetReader(alone, kept_).read_edges_alone(count);
    EdgeAttributes attributes;
    if (file_.has(group + "/weight")) {
      const Tensor weight = values_.floats(group + "/weight", {count});
      if (weight && !problems_.in(group + "/weight")) attributes.emplace("weight", weight);
    }
    if (items.x) attributes.emplace("attr", items.x.to_dense());
    relations_.emplace(type, HeteroGraph::Edges{Relation::from_coo(sources, targets, src, dst), attributes});
    data_.edges.emplace(type, std::move(items));
  }

  const H5Reader& file_;
  LoadOptions options_;
  std::vector<std::string>* kept_;
  Problems problems_;
  FileValues values_;
  TypedDataset data_;
  HeteroGraph::NodeCounts counts_;
  std::vector<std::string> types_;  // of nodes, those with problems too
  std::map<EdgeType, HeteroGraph::Edges> relations_;
  int64_t edges_ = 0;
};

/// A file of version 1.
TypedDataset single_type(Dataset data) {
  ADJ_CHECK(!data.graph_offsets, "{}: a file of many graphs, expected one", data.name);
  const EdgeType type{"node", "edge", "node"};
  auto [number, ends, weight, attributes] = detail::listed_edges(data.graph);
  ItemTable items;
  if (const auto times = attributes.find("time"); times != attributes.end()) {
    items.times = times->second;
    attributes.erase(times);
  }
  if (const auto attr = attributes.find("attr"); attr != attributes.end()) items.x = Features(attr->second);
  if (is_of_edges(data.task)) {
    items.task = data.task == Task::edge_class ? Task::node_class : Task::node_regression;
    items.classes = std::exchange(data.classes, 0);
    items.class_names = std::exchange(data.class_names, {});
    items.y = data.edge_y && number ? detail::gather_edges(data.edge_y, number) : data.edge_y;
    items.unlabelled = std::exchange(data.unlabelled, 0);
    items.splits = listed_splits(data, std::exchange(data.splits, {}));
    items.use(items.splits.empty() ? Split{data.train, data.val, data.test} : items.splits[0]);
    data.train = data.val = data.test = {};
    data.task = Task::none;
  }
  items.feature_names = data.attr_names;
  items.encoder = data.attr_encoder;
  if (weight) attributes.emplace("weight", weight);
  TypedDataset typed;
  typed.name = data.name;
  typed.graph = HeteroGraph(
      {{type.src, data.num_nodes()}},
      {{type, {Relation::from_coo(data.num_nodes(), data.num_nodes(), ends.src, ends.dst), attributes}}});
  typed.nodes.emplace(type.src, std::move(static_cast<ItemTable&>(data)));
  typed.edges.emplace(type, std::move(items));
  return typed;
}

}  // namespace

bool is_typed_dataset(const std::string& path) {
  try {
    const H5Reader file = H5Reader::open(path, {"@version"});
    return file.has_attribute("", "version") && file.integer("", "version") == 2;
  } catch (const DataError&) {
    return false;
  }
}

TypedDataset load_typed_dataset(const std::string& path, const LoadOptions& options) {
  ADJ_CHECK(!options.ranks, "{}: typed datasets are read whole by each rank", path);
  if (!is_typed_dataset(path)) return single_type(load_dataset(path, options));
  return TypedReader(H5Reader::open(path, detail::kTypedSchema), nullptr, options).read();
}

CheckedTypedDataset check_typed_dataset(const std::string& path) {
  CheckedTypedDataset checked;
  try {
    const H5Reader file = H5Reader::open(path, detail::kTypedSchema);
    checked.opened = true;
    checked.data = TypedReader(file, &checked.problems).read();
  } catch (const DataError& error) {
    checked.problems.emplace_back(error.what());  // concerns the entire file
  }
  return checked;
}

namespace {

/// Gives distinct names of groups: that of the type where it is a plain word, else a number.
auto group_names(const std::string& parent) {
  return [parent, taken = std::set<std::string>(), count = int64_t{0}](const std::string& type) mutable {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const bool is_plain =
        !type.empty() && type.size() <= 64 && type.find_first_not_of(plain) == std::string::npos;
    std::string group = is_plain ? type : std::to_string(count++);
    while (!taken.insert(group).second) group = std::to_string(count++);
    return parent + "/" + group;
  };
}

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
  auto node_groups = group_names("nodes"), edge_groups = group_names("edges");
  for (const std::string& type : graph.node_types()) {
    ADJ_CHECK(dataset.nodes.contains(type), "save_typed_dataset {}: no items of nodes \"{}\"", path, type);
    ADJ_CHECK(!dataset.nodes.find(type)->second.x_in_file,
              "save_typed_dataset {}: the features of \"{}\" are left in a file, expected them in memory",
              path, type);
    nodes.emplace_back(type, node_groups(type));
    expect_name(path, nodes.back().second, type);
    detail::expect_loadable(dataset.nodes.find(type)->second, graph.num_nodes(type), graph.num_edges(),
                            ItemPaths::nodes(nodes.back().second), path);
  }
  for (const EdgeType& type : graph.edge_types()) {
    const auto items = dataset.edges.find(type);
    ADJ_CHECK(items != dataset.edges.end(), "save_typed_dataset {}: no items of edges {}", path, type.str());
    ADJ_CHECK(!items->second.x.is_sparse(), "save_typed_dataset {}: sparse attributes of edges {}", path,
              type.str());
    edges.emplace_back(type, edge_groups(type.name));
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
