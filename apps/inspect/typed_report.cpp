#include "../common/summary.h"
#include "report.h"
#include <adjoint/core/text.h>

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

constexpr size_t kShown = 12;

void line(const char* name, const std::string& text) { fmt::print("    {:<10} {}\n", name, text); }

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (size_t k = 0; k < std::min(names.size(), kShown); ++k) texts.push_back(excerpt(names[k]));
  return fmt::format("{}{}", fmt::join(texts, ", "), names.size() > texts.size() ? ", …" : "");
}

std::vector<int64_t> class_counts(const ItemTable& items) {
  std::vector<int64_t> counts(static_cast<size_t>(items.classes));
  for (const int32_t c : items.y.to_vector<int32_t>())
    if (c >= 0 && c < items.classes) ++counts[static_cast<size_t>(c)];
  return counts;
}

bool has_classes(const ItemTable& items) { return items.task == Task::node_class && items.y; }

void print_items(const ItemTable& items, const char* columns) {
  if (!items.feature_names.empty()) line(columns, listed(items.feature_names));
  if (has_classes(items)) {
    const std::vector<int64_t> counts = class_counts(items);
    std::vector<std::string> texts;
    for (size_t c = 0; c < counts.size(); ++c)
      texts.push_back(fmt::format(
          "{}: {}", items.class_names.empty() ? std::to_string(c) : items.class_names[c], counts[c]));
    line("classes", listed(texts));
  }
  if (!items.splits.empty())
    line("split", fmt::format("{} train, {} val, {} test", items.splits[0].train.numel(),
                              items.splits[0].val.numel(), items.splits[0].test.numel()));
  if (items.times) {
    std::vector<int64_t> times = items.times.to_vector<int64_t>();
    std::erase(times, ItemTable::kNoTime);
    if (!times.empty())
      line("times", fmt::format("{} to {}", *std::min_element(times.begin(), times.end()),
                                *std::max_element(times.begin(), times.end())));
  }
  if (items.node_names) line("ids", "names");
  if (items.node_ids) line("ids", "integers");
}

void print_edges(const Relation& relation) {
  const auto range = [](const Tensor& degrees) {
    const std::vector<float> all = degrees.to_vector<float>();
    if (all.empty()) return std::string("none");
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    return fmt::format("{} to {}", *least, *most);
  };
  line("degrees", fmt::format("out of sources {}, into targets {}", range(relation.out_degrees()),
                              range(relation.in_degrees())));
}

Counts counts_of(const Tensor& degrees) {
  Counts counts;
  for (const float degree : degrees.to_vector<float>()) ++counts[static_cast<int64_t>(degree)];
  return counts;
}

void print_histograms(const EdgeType& type, const Relation& relation) {
  const std::string name = printable(text_of(type));
  if (type.src == type.dst && Graph(relation).is_symmetric())
    return print_histogram(name + ": degrees", counts_of(relation.in_degrees()));
  print_histogram(fmt::format("{}: out-degrees of {}", name, printable(type.src)),
                  counts_of(relation.out_degrees()));
  print_histogram(fmt::format("{}: in-degrees of {}", name, printable(type.dst)),
                  counts_of(relation.in_degrees()));
}

std::string json_items(const ItemTable& items) {
  std::vector<std::array<int64_t, 3>> splits;
  for (const Split& split : items.splits)
    splits.push_back({split.train.numel(), split.val.numel(), split.test.numel()});
  return fmt::format(
      R"("features": {}, "feature_names": {}, "task": "{}", "classes": {}, "class_names": {}, )"
      R"("unlabelled": {}, "splits": {}, "times": {})",
      items.num_features(), json_texts(items.feature_names), name_of(items.task),
      has_classes(items) ? class_counts(items) : std::vector<int64_t>(), json_texts(items.class_names),
      items.unlabelled, splits, static_cast<bool>(items.times));
}

}  // namespace

void print_text(const std::string& path, const CheckedTypedDataset& checked) {
  const TypedDataset& data = checked.data;
  if (data.graph) {
    print_summary(path, data);
    for (const auto& [type, items] : data.nodes) {
      fmt::print("  nodes {}\n", printable(type));
      print_items(items, "features");
    }
    for (const auto& [type, items] : data.edges) {
      fmt::print("  edges {}\n", printable(text_of(type)));
      print_edges(data.graph.relation(type));
      print_items(items, "attributes");
    }
    for (const EdgeType& type : data.graph.edge_types()) print_histograms(type, data.graph.relation(type));
  }
  for (const std::string& problem : checked.problems) fmt::print("{}\n", problem);
  if (checked.problems.empty()) fmt::print("no errors\n");
}

void print_json(const std::string& path, const CheckedTypedDataset& checked) {
  const TypedDataset& data = checked.data;
  std::vector<std::string> nodes, edges;
  for (const auto& [type, items] : data.nodes)
    nodes.push_back(fmt::format(R"({{"type": {}, "nodes": {}, {}}})", json_text(type), data.num_nodes(type),
                                json_items(items)));
  for (const auto& [type, items] : data.edges) {
    const Relation& relation = data.graph.relation(type);
    edges.push_back(fmt::format(
        R"({{"type": {}, "edges": {}, "weights": {}, "in_degree": {}, "out_degree": {}, {}}})",
        json_texts({type.src, type.name, type.dst}), relation.num_edges(),
        data.graph.edge_attributes(type).contains("weight"), json_degrees(counts_of(relation.in_degrees())),
        json_degrees(counts_of(relation.out_degrees())), json_items(items)));
  }
  fmt::print(R"({{"app": "inspect", "file": {}, "name": {}, "nodes": [{}], "edges": [{}], "problems": {}}})"
             "\n",
             json_text(path), json_text(data.name), fmt::join(nodes, ", "), fmt::join(edges, ", "),
             json_texts(checked.problems));
}

}  // namespace adj::apps
