#include <adjoint/core/parallel.h>
#include <adjoint/data/loader/feature_source.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>

namespace adj {

namespace {

class DenseRows : public FeatureSource {
 public:
  explicit DenseRows(Tensor x) : x_(std::move(x)) {}
  int64_t rows() const override { return x_.size(0); }
  int64_t cols() const override { return x_.size(1); }
  bool is_sparse() const override { return false; }

  Features gather(const Tensor& nodes, Device device) const override {
    const Tensor index = nodes.to(x_.device());
    Tensor y = Tensor::empty({index.numel(), cols()}, x_.dtype(), x_.device());
    kernels::gather_rows({.x = x_, .index = index, .y = y});
    return Features(y.to(device));
  }

 private:
  Tensor x_;
};

class SparseRows : public FeatureSource {
 public:
  explicit SparseRows(const SparseMatrix& x) : x_(x.to(Device::cpu())) {
    // Made here once, not by whichever worker comes first.
    (void)x_.relation().csr();
  }
  int64_t rows() const override { return x_.rows(); }
  int64_t cols() const override { return x_.cols(); }
  bool is_sparse() const override { return true; }

  Features gather(const Tensor& nodes, Device device) const override {
    constexpr int64_t kGrain = 1 << 10;
    const Tensor index = nodes.to(Device::cpu());
    const int32_t* row = index.data<int32_t>();
    const CsrMatrix x = x_.matrix();
    const int64_t* offsets = x.csr.offsets.data<int64_t>();
    Csr chosen;
    chosen.rows = index.numel();
    chosen.cols = cols();
    chosen.offsets = Tensor::empty({chosen.rows + 1}, DType::i64);
    auto* to = chosen.offsets.mutable_data<int64_t>();
    to[0] = 0;
    for (int64_t k = 0; k < chosen.rows; ++k) {
      ADJ_CHECK(row[k] >= 0 && row[k] < rows(), "features: node {} at place {}, expected 0 to {}", row[k], k,
                rows() - 1);
      to[k + 1] = to[k] + offsets[row[k] + 1] - offsets[row[k]];
    }
    // Which entry of the whole each one is; then what belongs to entries is looked up.
    Tensor entry = Tensor::empty({to[chosen.rows]}, DType::i32);
    chosen.indices = Tensor::empty_like(entry);
    auto* from = entry.mutable_data<int32_t>();
    auto* column = chosen.indices.mutable_data<int32_t>();
    const int32_t* columns = x.csr.indices.data<int32_t>();
    const int32_t* order = x.values && x.order ? x.order.data<int32_t>() : nullptr;
    parallel_for(chosen.rows, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        for (int64_t e = offsets[row[k]], at = to[k]; at < to[k + 1]; ++e, ++at) {
          column[at] = columns[e];
          from[at] = order != nullptr ? order[e] : static_cast<int32_t>(e);
        }
    });
    Tensor values;
    if (x.values) {
      Tensor one_column = Tensor::empty({entry.numel(), 1}, x.values.dtype());
      kernels::gather_rows({.x = x.values.reshape({-1, 1}), .index = entry, .y = one_column});
      values = one_column.reshape({-1});
    }
    return Features(SparseMatrix(Relation::from_csr(std::move(chosen)), values).to(device));
  }

 private:
  SparseMatrix x_;
};

}  // namespace

std::shared_ptr<const FeatureSource> make_feature_source(const Features& x) {
  ADJ_CHECK(x, "feature source: no features");
  if (x.is_sparse()) return std::make_shared<SparseRows>(x.sparse());
  return std::make_shared<DenseRows>(x.dense());
}

}  // namespace adj
