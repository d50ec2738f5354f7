#include <adjoint/data/features.h>
#include <adjoint/kernels/norm/norm.h>

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

Device Features::device() const { return is_sparse() ? sparse_.device() : dense().device(); }

Features Features::to(Device device) const {
  Features moved;
  moved.dense_ = dense_.to(device);
  moved.sparse_ = sparse_.to(device);
  return moved;
}

Features Features::to(DType dtype) const {
  return is_sparse() ? Features(sparse_.for_features(dtype)) : Features(dense().to(dtype));
}

Tensor Features::to_dense() const { return is_sparse() ? sparse_.to_dense() : dense(); }

Features Features::row_normalized() const {
  if (is_sparse()) return sparse_.row_normalized();
  Tensor normalized = Tensor::empty_like(dense());
  kernels::sum_normalize_rows({.x = dense(), .y = normalized});
  return Features(normalized);
}

}  // namespace adj
