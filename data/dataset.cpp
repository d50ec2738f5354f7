#include <adjoint/data/dataset.h>

#include <algorithm>

extern "C" {
extern const unsigned char adjoint_data_demo[];
extern const unsigned char adjoint_data_demo_end[];
}

namespace adj {

std::string_view name_of(Task task) {
  constexpr std::string_view kNames[] = {
      "node_class",       "node_multilabel", "node_regression", "graph_class",
      "graph_regression", "edge_class",      "edge_regression", "none"};
  return kNames[static_cast<size_t>(task)];
}

int64_t Dataset::num_classes() const {
  const Tensor& known = graph_y ? graph_y : is_of_edges(task) ? edge_y : y;
  if (classes > 0) return classes;
  if (!known) return 0;
  return known.dims() == 2 ? known.size(1) : 1;
}

void Dataset::use_split(size_t k) {
  ADJ_CHECK(k < splits.size(), "dataset {}: no split {}, it has {}", name, k, splits.size());
  use(splits[k]);
}

void Dataset::use_first_split() {
  if (!splits.empty()) return use_split(0);
  train = val = test = Tensor::empty({0}, DType::i32, device());
}

int64_t ItemTable::num_features() const {
  int64_t sum = x ? x.cols() : x_in_file.cols();
  for (const FileRows& rows : x_in_files) sum += rows.cols();
  return sum;
}

ItemTable ItemTable::to(Device device) const {
  ItemTable moved = *this;
  moved.x = x.to(device);
  for (Tensor* tensor : {&moved.y, &moved.train, &moved.val, &moved.test, &moved.times, &moved.node_ids,
                         &moved.node_names, &moved.node_name_offsets})
    *tensor = tensor->to(device);
  for (Split& split : moved.splits) split = split.to(device);
  return moved;
}

Dataset Dataset::to(Device device) const {
  Dataset moved = *this;
  static_cast<ItemTable&>(moved) = ItemTable::to(device);
  moved.graph = graph.to(device);
  for (Tensor* tensor : {&moved.graph_offsets, &moved.graph_y, &moved.edge_y, &moved.part, &moved.order})
    *tensor = tensor->to(device);
  return moved;
}

Dataset load_demo_dataset(const LoadOptions& options) {
  const auto* begin = reinterpret_cast<const std::byte*>(adjoint_data_demo);
  const auto* end = reinterpret_cast<const std::byte*>(adjoint_data_demo_end);
  return load_dataset(std::span(begin, end), "demo dataset", options);
}

}  // namespace adj
