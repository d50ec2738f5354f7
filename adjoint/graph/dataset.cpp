#include <adjoint/graph/dataset.h>
#include <adjoint/kernels/elementwise.h>
#include <adjoint/kernels/reduce.h>

#include <algorithm>

namespace adj {

const Tensor& Features::dense() const {
  ADJ_CHECK(dense_, "features: asked for dense ones, but they are {}", is_sparse() ? "sparse" : "absent");
  return dense_;
}

const SparseMatrix& Features::sparse() const {
  ADJ_CHECK(sparse_, "features: asked for sparse ones, but they are {}", dense_ ? "dense" : "absent");
  return sparse_;
}

int64_t Features::rows() const { return is_sparse() ? sparse_.rows() : dense().size(0); }
int64_t Features::cols() const { return is_sparse() ? sparse_.cols() : dense().size(1); }

Features Features::to(Device device) const {
  Features moved;
  moved.dense_ = dense_.to(device);
  moved.sparse_ = sparse_.to(device);
  return moved;
}

Tensor Features::to_dense() const { return is_sparse() ? sparse_.to_dense() : dense(); }

Features Features::row_normalized() const {
  if (is_sparse()) return sparse_.row_normalized();
  Tensor sums = Tensor::empty({rows()}, dense_.dtype(), dense_.device());
  kernels::sum_columns(dense_, sums);
  std::vector<float> scale = sums.to(DType::f32).to_vector<float>();
  for (float& s : scale) s = s == 0.0f ? 1.0f : 1.0f / s;
  Tensor normalized = Tensor::empty_like(dense_);
  kernels::scale_rows(dense_, Tensor::from(scale, dense_.device()).to(dense_.dtype()), normalized);
  return normalized;
}

std::string_view name_of(Task task) {
  switch (task) {
    case Task::node_class:
      return "node_class";
    case Task::node_multilabel:
      return "node_multilabel";
    case Task::node_regression:
      return "node_regression";
    case Task::graph_class:
      return "graph_class";
    case Task::graph_regression:
      return "graph_regression";
    case Task::none:
      return "none";
  }
  return "?";
}

int64_t Dataset::num_classes() const {
  const Tensor& labels = graph_y ? graph_y : y;
  if (classes > 0) return classes;
  if (!labels) return 0;
  return labels.dims() == 2 ? labels.size(1) : 1;
}

void Dataset::use_split(size_t k) {
  ADJ_CHECK(k < splits.size(), "dataset {}: no split {}, it has {}", name, k, splits.size());
  train = splits[k].train;
  val = splits[k].val;
  test = splits[k].test;
}

Dataset Dataset::to(Device device) const {
  Dataset moved = *this;
  moved.graph = graph.to(device);
  moved.x = x.to(device);
  for (Tensor* tensor : {&moved.edge_attr, &moved.y, &moved.train, &moved.val, &moved.test,
                         &moved.graph_offsets, &moved.graph_y})
    *tensor = tensor->to(device);
  for (Split& split : moved.splits) {
    split.train = split.train.to(device);
    split.val = split.val.to(device);
    split.test = split.test.to(device);
  }
  return moved;
}

}  // namespace adj
