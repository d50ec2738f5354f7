#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace adj::detail {

namespace {

constexpr int64_t kVersion = 1;

}  // namespace

void DatasetReader::read_header() {
  problems_.attempt("attribute format", [&] {
    if (const std::string format = file_.text("", "format"); format != "adjoint.graph")
      file_.fail("attribute format", "\"{}\", expected \"adjoint.graph\"", format);
  });
  problems_.attempt("attribute version", [&] {
    if (const int64_t version = file_.integer("", "version"); version != kVersion)
      file_.fail("attribute version", "{}, expected {}{}", version, kVersion,
                 version > kVersion ? ": written for a newer Adjoint" : "");
  });
  problems_.attempt("attribute num_nodes", [&] { read_num_nodes(); });
  problems_.attempt("attribute task", [&] { read_task(); });
  problems_.attempt("attribute name", [&] {
    data_.name =
        utf8_name(file_.has_attribute("", "name") ? file_.text("", "name")
                                                  : std::filesystem::path(file_.file()).stem().string());
  });
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
  for (Task task : {Task::node_class, Task::node_multilabel, Task::node_regression, Task::graph_class,
                    Task::graph_regression, Task::none})
    if (text == name_of(task)) {
      data_.task = task;
      return;
    }
  file_.fail("attribute task",
             "\"{}\", expected node_class, node_multilabel, node_regression, graph_class, graph_regression "
             "or none",
             text);
}

void DatasetReader::read_classes() {
  if (data_.task != Task::node_class && data_.task != Task::graph_class &&
      !file_.has_attribute("", "num_classes"))
    return;
  const int64_t classes = file_.integer("", "num_classes");
  if (classes < 0 || classes > kLargest)
    file_.fail("attribute num_classes", "{}, expected 0 to {}", classes, kLargest);
  data_.classes = classes;
}

/// Before any allocation of that size: a few bytes can declare any number of nodes.
void DatasetReader::check_nodes() {
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
  expect("nodes/name_offsets", *nodes_ + 1);
  if (counted) return;
  int64_t edges = 0;
  problems_.attempt("edges/src", [&] {
    if (file_.has("edges/src") && !file_.shape("edges/src").empty()) edges = file_.shape("edges/src")[0];
  });
  if (*nodes_ <= most_bare_nodes(edges)) return;
  problems_.say("attribute num_nodes", "{}, but nothing in the file has that many nodes", *nodes_);
  nodes_.reset();
}

}  // namespace adj::detail
