#include <adjoint/core/parallel.h>
#include <adjoint/data/features.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/kernels/index/gather.h>
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

namespace {

SparseMatrix rows_of(const SparseMatrix& x, const Tensor& index) {
  constexpr int64_t kGrain = 1 << 10;
  ADJ_CHECK(
      !x.device().is_cuda() && index && index.dims() == 1 && index.dtype() == DType::i32 && !index.is_cuda(),
      "features: rows of sparse ones on {} by {}, expected both on the CPU, the index int32 [K]",
      x.device().str(), index.str());
  const int32_t* row = index.data<int32_t>();
  const CsrMatrix whole = x.matrix();
  const int64_t* offsets = whole.csr.offsets.data<int64_t>();
  Csr csr{index.numel(), whole.csr.cols, Tensor::empty({index.numel() + 1}, DType::i64), {}};
  int64_t* to = csr.offsets.mutable_data<int64_t>();
  to[0] = 0;
  for (int64_t k = 0; k < csr.rows; ++k) {
    ADJ_CHECK(row[k] >= 0 && row[k] < x.rows(), "features: row {} at position {}, expected 0 to {}", row[k],
              k, x.rows() - 1);
    to[k + 1] = to[k] + offsets[row[k] + 1] - offsets[row[k]];
  }
  // Which entry of the whole each one is; then what belongs to entries is looked up.
  Tensor entry = Tensor::empty({to[csr.rows]}, DType::i32);
  csr.indices = Tensor::empty_like(entry);
  int32_t* from = entry.mutable_data<int32_t>();
  int32_t* column = csr.indices.mutable_data<int32_t>();
  const int32_t* columns = whole.csr.indices.data<int32_t>();
  const int32_t* order = whole.values && whole.order ? whole.order.data<int32_t>() : nullptr;
  parallel_for(csr.rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t e = offsets[row[k]], at = to[k]; at < to[k + 1]; ++e, ++at) {
        column[at] = columns[e];
        from[at] = order != nullptr ? order[e] : static_cast<int32_t>(e);
      }
  });
  return SparseMatrix(Relation::from_csr(std::move(csr)),
                      whole.values ? detail::gather_edges(whole.values, entry) : Tensor());
}

}  // namespace

Features Features::rows(const Tensor& index) const {
  if (is_sparse()) return rows_of(sparse_, index);
  Tensor picked = Tensor::empty({index.numel(), cols()}, dense().dtype(), dense().device());
  kernels::gather_rows({.x = dense(), .index = index, .y = picked});
  return Features(picked);
}

Features Features::row_normalized() const {
  if (is_sparse()) return sparse_.row_normalized();
  Tensor normalized = Tensor::empty_like(dense());
  kernels::sum_normalize_rows({.x = dense(), .y = normalized});
  return Features(normalized);
}

}  // namespace adj
