#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/graph/order/orders.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace adj::detail {

int64_t read_version(const H5Reader& file, Problems& problems) {
  constexpr int64_t kLatest = 2;
  int64_t version = 0;
  problems.attempt("attribute format", [&] {
    if (const std::string format = file.text("", "format"); format != "adjoint.graph")
      file.fail("attribute format", "\"{}\", expected \"adjoint.graph\"", format);
  });
  problems.attempt("attribute version", [&] {
    const int64_t number = file.integer("", "version");
    if (number < 1 || number > kLatest)
      file.fail("attribute version", "{}, expected 1 or {}{}", number, kLatest,
                number > kLatest ? ": written for a newer Adjoint" : "");
    version = number;
  });
  return version;
}

std::string read_dataset_name(const H5Reader& file) {
  return utf8_name(file.has_attribute("", "name") ? file.text("", "name")
                                                  : std::filesystem::path(file.file()).stem().string());
}

void DatasetReader::read_header() {
  if (read_version(file_, problems_) == 2)
    problems_.say("attribute version",
                  "2, a file of several types of nodes or edges, expected 1, a graph (convert typed FILE OUT "
                  "--edges TYPE takes the graph of one type of edges)");
  problems_.attempt("attribute num_nodes", [&] { read_num_nodes(); });
  problems_.attempt("attribute task", [&] { read_task(); });
  problems_.attempt("attribute name", [&] { data_.name = read_dataset_name(file_); });
  problems_.attempt("attribute undirected", [&] {
    data_.undirected = file_.has_attribute("", "undirected") && file_.integer("", "undirected") != 0;
  });
  problems_.attempt("attribute num_classes", [&] { read_classes(); });
}

void DatasetReader::read_num_nodes() {
  const int64_t nodes = file_.integer("", "num_nodes");
  if (nodes < 1 || nodes >= kLargest)
    file_.fail("attribute num_nodes", "{}, expected 1 to {}", nodes, kLargest - 1);
  nodes_ = nodes;
}

void DatasetReader::read_task() {
  const std::string text = file_.text("", "task");
  const std::string_view prefix = edges_ ? "edge_" : "node_";
  std::vector<std::string> known;
  for (Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                    Task::graph_regression, Task::edge_class, Task::edge_regression, Task::none}) {
    if (typed_ && (is_of_graphs(task) || is_of_edges(task))) continue;
    std::string name(name_of(task));
    if (name.starts_with("node_")) name.replace(0, 5, prefix);
    if (text == name) {
      data_.task = task;
      return;
    }
    known.push_back(name);
  }
  const std::string last = known.back();
  known.pop_back();
  file_.fail("attribute task", "\"{}\", expected {} or {}", text, fmt::join(known, ", "), last);
}

void DatasetReader::read_classes() {
  if (!has_classes(data_.task) && !file_.has_attribute("", "num_classes")) return;
  const int64_t classes = file_.integer("", "num_classes");
  if (classes < 0 || classes > kLargest)
    file_.fail("attribute num_classes", "{}, expected 0 to {}", classes, kLargest);
  data_.classes = classes;
}

/// Before any allocation of that size: a few bytes can declare any number of nodes.
void DatasetReader::check_nodes(int64_t edges) {
  bool counted = false;
  const auto expect = [&](const char* path, int64_t rows) {
    problems_.attempt(path, [&] {
      if (!file_.has(path)) return;
      const std::vector<int64_t>& shape = file_.shape(path);
      if (shape.empty() || shape[0] != rows)
        file_.fail(path, "shape [{}], expected {} rows", fmt::join(shape, ", "), rows);
      counted = counted || std::find(shape.begin(), shape.end(), 0) == shape.end();
    });
  };
  if (!nodes_) return;
  expect("nodes/x", *nodes_);
  expect("nodes/x_indptr", *nodes_ + 1);
  expect("nodes/y", *nodes_);
  expect("nodes/part", *nodes_);
  expect("nodes/order", *nodes_);
  expect("nodes/id", *nodes_);
  expect("nodes/time", *nodes_);
  expect("nodes/name_offsets", *nodes_ + 1);
  if (counted) return;
  if (*nodes_ <= most_bare_nodes(edges)) return;
  problems_.say("attribute num_nodes", "{}, but nothing in the file has that many nodes", *nodes_);
  nodes_.reset();
}

int64_t DatasetReader::count_edges() {
  int64_t edges = 0;
  problems_.attempt("edges/src", [&] {
    if (file_.has("edges/src") && !file_.shape("edges/src").empty()) edges = file_.shape("edges/src")[0];
  });
  return edges;
}

void DatasetReader::read_graphs() {
  if (!file_.has("graphs/offsets")) {
    if (of_graphs()) problems_.say("graphs/offsets", "missing, expected for task {}", name_of(data_.task));
    return;
  }
  data_.graph_offsets = values_.offsets("graphs/offsets", kAny, nodes_.value_or(kAny), "the number of nodes");
  if (data_.graph_offsets) graphs_ = data_.graph_offsets.numel() - 1;
  data_.graph_names = names_at("graphs/name", graphs_.value_or(kAny), "graph");
}

void DatasetReader::read_edges() {
  const int64_t limit = nodes_.value_or(kLargest);
  const Tensor src = values_.indices("edges/src", kAny, limit),
               dst = values_.indices("edges/dst", kAny, limit);
  const bool paired = src && dst && src.numel() == dst.numel();
  if (src && dst && !paired)
    problems_.say("edges/dst", "{} edges, but edges/src has {}", dst.numel(), src.numel());
  if (src && src.numel() >= kLargest)
    problems_.say("edges/src", "{} edges, expected fewer than {}", src.numel(), kLargest);
  if (paired && data_.graph_offsets && sound({"graphs/offsets"})) check_graphs_apart(src, dst);

  const int64_t edges = paired ? src.numel() : kAny;
  if (paired) num_edges_ = edges;
  Tensor weight;
  if (file_.has("edges/weight")) weight = values_.floats("edges/weight", {edges});
  EdgeAttributes attributes;
  if (file_.has("edges/attr")) attributes.emplace("attr", values_.floats("edges/attr", {edges, kAny}));
  if (file_.has("edges/time")) attributes.emplace("time", values_.integers("edges/time", edges));
  const auto attr = attributes.find("attr");
  read_edge_names(attr != attributes.end() && attr->second ? attr->second.size(1) : kAny);
  if (!nodes_ || !sound({"edges/src", "edges/dst"})) return;
  if (!sound({"edges/weight"})) weight = {};
  for (const std::string_view name : {"attr", "time"})
    if (!sound({fmt::format("edges/{}", name)})) attributes.erase(attributes.find(name));
  data_.graph = Graph::from_coo(*nodes_, src, dst, weight, attributes);
}

void DatasetReader::read_edge_names(int64_t columns) {
  data_.attr_names = names_at("edges/attr_names", columns, "column");
  data_.attr_encoder = encoder_at("edges/attr_encoder", columns, data_.attr_names);
}

void number_edges(Dataset& data) {
  const Tensor listed = data.graph ? data.graph.input_order() : Tensor();  // of each edge number
  if (!listed) return;
  if (data.edge_y) data.edge_y = gather_edges(data.edge_y, listed);
  if (!is_of_edges(data.task)) return;
  const Tensor number = inverse_order(listed);
  for (Split& split : data.splits)
    for (Tensor* part : {&split.train, &split.val, &split.test}) *part = gather_edges(number, *part);
  data.use_first_split();
}

void DatasetReader::check_graphs_apart(const Tensor& src, const Tensor& dst, int64_t first) {
  const auto offsets = data_.graph_offsets.to_vector<int64_t>();
  const auto graph_of = [&](int32_t node) {
    return std::upper_bound(offsets.begin(), offsets.end(), int64_t{node}) - offsets.begin() - 1;
  };
  const int64_t nodes = offsets.back();
  const int32_t *source = src.data<int32_t>(), *target = dst.data<int32_t>();
  WrongValues wrong(problems_, "edges/dst");
  for (int64_t e = 0; e < src.numel(); ++e) {
    if (source[e] < 0 || source[e] >= nodes || target[e] < 0 || target[e] >= nodes)
      continue;  // already reported
    if (graph_of(source[e]) != graph_of(target[e]))
      wrong.found(first + e, [&] {
        return fmt::format(
            "an edge from node {} of graph {} to node {} of graph {} at position {}, expected edges within "
            "graphs",
            source[e], graph_of(source[e]), target[e], graph_of(target[e]), first + e);
      });
  }
  wrong.say();
}

}  // namespace adj::detail
