#include "summary.h"

#include <adjoint/training/examples.h>

#include <algorithm>

namespace adj::apps {

Degrees::Degrees(const Graph& graph)
    : edges_(graph.in_edges()),
      offsets_(edges_.offsets.data<int64_t>()),
      symmetric_(graph.relation().symmetric()) {
  if (symmetric_) return;
  out_.resize(static_cast<size_t>(graph.num_nodes()));
  const int32_t* sources = edges_.indices.data<int32_t>();
  for (int64_t e = 0; e < graph.num_edges(); ++e) ++out_[static_cast<size_t>(sources[e])];
}

void print_summary(const std::string& path, const Dataset& data) {
  const Degrees degrees(data.graph);
  int64_t least_in = data.graph.num_edges(), least_out = least_in, most_in = 0, most_out = 0, isolated = 0;
  for (int64_t i = 0; i < data.num_nodes(); ++i) {
    const int64_t in = degrees.in(i), out = degrees.out(i);
    least_in = std::min(least_in, in);
    most_in = std::max(most_in, in);
    least_out = std::min(least_out, out);
    most_out = std::max(most_out, out);
    isolated += in == 0 && out == 0;
  }
  fmt::print("{}: {} nodes, {} directed edges, {} features, {} {}{}{}\n", printable(path), data.num_nodes(),
             data.graph.num_edges(), data.num_features(), data.num_classes(),
             training::word_for_outputs(training::labels_of(data.task)),
             data.graph_offsets ? fmt::format(", {} graphs", data.graph_offsets.numel() - 1) : "",
             data.task != Task::none ? fmt::format(", {} without a label", data.unlabelled) : "");
  fmt::print("in-degrees {} to {}, out-degrees {} to {}, {} isolated nodes, {}\n", least_in, most_in,
             least_out, most_out, isolated, degrees.symmetric() ? "symmetric" : "not symmetric");
}

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
  constexpr int64_t kShown = 20;
  int64_t shown = 0;
  for (const auto& [type, items] : data.edges) {
    if (++shown > kShown) {
      fmt::print("  … and {} more types of edges\n", std::ssize(data.edges) - kShown);
      break;
    }
    fmt::print("  edges {}: {}{}{}\n", printable(text_of(type)), graph.relation(type).num_edges(),
               graph.edge_attributes(type).contains("weight") ? ", weighted" : "",
               contents(items, "attribute"));
  }
}

}  // namespace adj::apps
