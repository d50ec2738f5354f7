#include <adjoint/core/capture.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/reduce/reduce.h>

namespace adj {

namespace {

bool equal(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0) return b.numel() == 0;
  Tensor count = Tensor::empty({}, DType::i64, a.device());
  kernels::count_equal({.a = a, .b = b, .y = count});
  return count.to_vector<int64_t>()[0] == a.numel();
}

}  // namespace

SparsePattern::SparsePattern(Csr csr, bool symmetric) : csr_(std::move(csr)), known_symmetric_(symmetric) {
  ADJ_CHECK(
      csr_.offsets.dims() == 1 && csr_.offsets.dtype() == DType::i64 && csr_.offsets.numel() == csr_.rows + 1,
      "sparse pattern of {} rows: offsets are {}, expected [{}] int64", csr_.rows, csr_.offsets.str(),
      csr_.rows + 1);
  ADJ_CHECK(csr_.indices.dims() == 1 && csr_.indices.dtype() == DType::i32,
            "sparse pattern: indices are {}, expected int32", csr_.indices.str());
  ADJ_CHECK(!symmetric || csr_.rows == csr_.cols,
            "sparse pattern of [{}, {}]: only a square one is symmetric", csr_.rows, csr_.cols);
}

const Csr& SparsePattern::transposed() const {
  if (known_symmetric_) return csr_;
  std::call_once(once_, [this] { transpose(); });
  return found_symmetric_ ? csr_ : transposed_;
}

const Tensor& SparsePattern::order() const {
  std::call_once(once_, [this] { transpose(); });
  return order_;
}

bool SparsePattern::symmetric() const {
  if (known_symmetric_) return true;
  if (rows() != cols()) return false;
  std::call_once(once_, [this] { transpose(); });
  return found_symmetric_;
}

void SparsePattern::transpose() const {
  const OutsideCapture for_all_steps;
  Csr t;
  t.rows = csr_.cols;
  t.cols = csr_.rows;
  t.offsets = Tensor::empty({t.rows + 1}, DType::i64, csr_.device());
  t.indices = Tensor::empty({entries()}, DType::i32, csr_.device());
  order_ = Tensor::empty({entries()}, DType::i32, csr_.device());
  kernels::transpose({.a = csr_, .offsets = t.offsets, .indices = t.indices, .order = order_});
  found_symmetric_ = known_symmetric_ || (rows() == cols() && equal(csr_.indices, t.indices) &&
                                          equal(csr_.offsets.to(DType::i32), t.offsets.to(DType::i32)));
  if (!found_symmetric_) transposed_ = std::move(t);
}

SparseMatrix::SparseMatrix(std::shared_ptr<const SparsePattern> pattern, Tensor values)
    : pattern_(std::move(pattern)), values_(std::move(values)) {
  ADJ_CHECK(!values_ || (values_.dims() == 1 && values_.numel() == entries() &&
                         is_floating(values_.dtype()) && values_.device() == device()),
            "sparse matrix: values are {}, expected floating [{}] on {}", values_.str(), entries(),
            device().str());
}

SparseMatrix SparseMatrix::from_csr(int64_t rows, int64_t cols, const std::vector<int64_t>& offsets,
                                    const std::vector<int32_t>& indices, const std::vector<float>& values) {
  const auto entries = static_cast<int64_t>(indices.size());
  ADJ_CHECK(rows >= 0 && cols >= 0 && static_cast<int64_t>(offsets.size()) == rows + 1,
            "sparse matrix [{}, {}]: {} offsets, expected {}", rows, cols, offsets.size(), rows + 1);
  ADJ_CHECK(offsets.front() == 0 && offsets.back() == entries,
            "sparse matrix: offsets run from {} to {}, expected 0 to {}", offsets.front(), offsets.back(),
            entries);
  ADJ_CHECK(values.empty() || values.size() == indices.size(), "sparse matrix: {} values, expected {}",
            values.size(), entries);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    ADJ_CHECK(offsets[i] <= offsets[i + 1] && offsets[i + 1] <= entries,
              "sparse matrix: offsets fall from {} to {} at row {}", offsets[i], offsets[i + 1], i);
    for (auto e = static_cast<size_t>(offsets[i]); e < static_cast<size_t>(offsets[i + 1]); ++e) {
      ADJ_CHECK(indices[e] >= 0 && indices[e] < cols, "sparse matrix: column {} in row {}, expected 0 to {}",
                indices[e], i, cols - 1);
      ADJ_CHECK(e == static_cast<size_t>(offsets[i]) || indices[e - 1] <= indices[e],
                "sparse matrix: columns {}, {} of row {} do not ascend", indices[e - 1], indices[e], i);
    }
  }
  Csr csr;
  csr.rows = rows;
  csr.cols = cols;
  csr.offsets = Tensor::from(offsets);
  csr.indices = Tensor::from(indices);
  return SparseMatrix(std::make_shared<SparsePattern>(std::move(csr)),
                      values.size() == indices.size() && !values.empty() ? Tensor::from(values) : Tensor());
}

CsrMatrix SparseMatrix::adjoint() const {
  if (self_adjoint_) return matrix();
  if (!values_) return {pattern_->transposed(), {}, {}};
  if (adjoint_values_) return {pattern_->transposed(), adjoint_values_, {}};
  return {pattern_->transposed(), values_, pattern_->order()};
}

void SparseMatrix::keep_adjoint(bool self_adjoint) {
  ADJ_CHECK(!self_adjoint || rows() == cols(), "sparse matrix [{}, {}]: not square, so not its own adjoint",
            rows(), cols());
  self_adjoint_ = self_adjoint;
  if (self_adjoint || !values_ || adjoint_values_) return;
  adjoint_values_ = Tensor::empty_like(values_);
  kernels::permute({.x = values_, .order = pattern_->order(), .y = adjoint_values_});
}

SparseMatrix SparseMatrix::to(Device device) const {
  if (!pattern_ || device == this->device()) return *this;
  SparseMatrix moved(
      std::make_shared<SparsePattern>(pattern_->csr().to(device), rows() == cols() && pattern_->symmetric()),
      values_.to(device));
  moved.adjoint_values_ = adjoint_values_.to(device);
  moved.self_adjoint_ = self_adjoint_;
  return moved;
}

Tensor SparseMatrix::to_dense() const {
  const std::vector<int64_t> offsets = pattern_->csr().offsets.to_vector<int64_t>();
  const std::vector<int32_t> indices = pattern_->csr().indices.to_vector<int32_t>();
  const std::vector<float> weights =
      values_ ? values_.to(DType::f32).to_vector<float>() : std::vector<float>();
  Tensor dense = Tensor::zeros({rows(), cols()});
  float* out = dense.mutable_data<float>();
  for (int64_t i = 0; i < rows(); ++i)
    for (int64_t e = offsets[static_cast<size_t>(i)]; e < offsets[static_cast<size_t>(i) + 1]; ++e) {
      const auto k = static_cast<size_t>(e);
      out[i * cols() + indices[k]] += weights.empty() ? 1.0f : weights[k];
    }
  return dense.to(device());
}

SparseMatrix SparseMatrix::row_normalized() const {
  Tensor weights = Tensor::empty({entries()}, values_ ? values_.dtype() : DType::f32, device());
  kernels::row_normalize_entries({.a = matrix(), .weights = weights});
  return with_values(std::move(weights));
}

}  // namespace adj
