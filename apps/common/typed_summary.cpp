#include "typed_summary.h"

#include <adjoint/core/text.h>
#include <adjoint/training/examples.h>

#include <fmt/format.h>

namespace adj::apps {

namespace {

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// ", 3 features, 2 classes, 4 without a label, 1 split, times": what the items have.
std::string contents(const ItemTable& items, std::string_view features) {
  std::string text;
  if (items.num_features() > 0) text += ", " + plural(items.num_features(), features);
  if (items.task != Task::none) {
    const int64_t outputs = items.task == Task::node_class ? items.classes
                            : items.y.dims() == 2          ? items.y.size(1)
                                                           : 1;
    text += fmt::format(", {} {}", outputs, training::word_for_outputs(training::labels_of(items.task)));
    if (items.unlabelled > 0) text += fmt::format(", {} without a label", items.unlabelled);
  }
  if (!items.splits.empty()) text += ", " + plural(std::ssize(items.splits), "split");
  if (items.times) text += ", times";
  return text;
}

}  // namespace

void print_summary(const std::string& path, const TypedDataset& data) {
  const HeteroGraph& graph = data.graph;
  fmt::print("{}: {}, {}, {} nodes and {} directed edges\n", printable(path),
             plural(std::ssize(data.nodes), "type") + " of nodes",
             plural(std::ssize(data.edges), "type") + " of edges", graph.num_nodes(), graph.num_edges());
  for (const auto& [type, items] : data.nodes)
    fmt::print("  nodes {}: {}{}\n", printable(type), graph.num_nodes(type), contents(items, "feature"));
  for (const auto& [type, items] : data.edges)
    fmt::print("  edges {}: {}{}{}\n", printable(text_of(type)), graph.relation(type).num_edges(),
               graph.edge_attributes(type).contains("weight") ? ", weighted" : "",
               contents(items, "attribute"));
}

}  // namespace adj::apps
