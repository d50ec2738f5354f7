#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/import/detail/tu_columns.h>

#include <algorithm>
#include <limits>

namespace adj {

namespace {

constexpr int64_t kMostDenseIds = 1024;

}  // namespace

void TuColumns::add_one_hot(const Tensor& labels, const std::string& path) {
  labels_ = labels;
  path_ = path;
  const int64_t columns = labels.size(1);
  const int64_t* label = labels.data<int64_t>();
  const int64_t most_columns = std::min<int64_t>(detail::most_sparse_columns(rows_ * (width_ + columns)),
                                                 std::numeric_limits<int32_t>::max() - 1);
  for (int64_t l = 0; l < columns; ++l) {
    int64_t least = label[l], most = label[l];
    for (int64_t i = 1; i < rows_; ++i) {
      least = std::min(least, label[i * columns + l]);
      most = std::max(most, label[i * columns + l]);
    }
    // Unsigned, since the difference of two int64 may overflow.
    const uint64_t span = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
    if (span >= static_cast<uint64_t>(most_columns - width_))
      data_fail("{}: labels from {} to {} in column {}, which make more than {} columns", excerpt(path),
                least, most, l + 1, most_columns);
    label_columns_.push_back(width_);
    least_.push_back(least);
    width_ += static_cast<int64_t>(span) + 1;
  }
}

Tensor TuColumns::dense() const {
  if (width_ - values_width() > kMostDenseIds)
    data_fail("{}: labels that make {} columns, expected at most {}", excerpt(path_), width_ - values_width(),
              kMostDenseIds);
  return dense({});
}

Features TuColumns::features(const Tensor& order) const {
  return width_ > kMostDenseIds ? Features(sparse(order)) : Features(dense(order));
}

Tensor TuColumns::dense(const Tensor& order) const {
  Tensor all = Tensor::zeros({rows_, width_});
  float* target = all.mutable_data<float>();
  for (int64_t k = 0; k < rows_; ++k, target += width_) {
    const int64_t row = order ? order.data<int32_t>()[k] : k;
    if (values_) std::copy_n(values_.data<float>() + row * values_width(), values_width(), target);
    for (size_t l = 0; l < label_columns_.size(); ++l) target[column_of(row, l)] = 1.0f;
  }
  return all;
}

SparseMatrix TuColumns::sparse(const Tensor& order) const {
  const int64_t a_row = values_width() + std::ssize(label_columns_);
  Csr csr;
  csr.rows = rows_;
  csr.cols = width_;
  csr.offsets = Tensor::empty({rows_ + 1}, DType::i64);
  csr.indices = Tensor::empty({rows_ * a_row}, DType::i32);
  Tensor entries = Tensor::full({rows_ * a_row}, 1.0);
  int64_t* offsets = csr.offsets.mutable_data<int64_t>();
  int32_t* column = csr.indices.mutable_data<int32_t>();
  float* entry = entries.mutable_data<float>();
  for (int64_t k = 0; k <= rows_; ++k) offsets[k] = k * a_row;
  for (int64_t k = 0; k < rows_; ++k) {
    const int64_t row = order ? order.data<int32_t>()[k] : k;
    for (int64_t c = 0; c < values_width(); ++c, ++entry) {
      *column++ = static_cast<int32_t>(c);
      *entry = values_.data<float>()[row * values_width() + c];
    }
    for (size_t l = 0; l < label_columns_.size(); ++l, ++entry)
      *column++ = static_cast<int32_t>(column_of(row, l));
  }
  return SparseMatrix(Relation::from_csr(std::move(csr)), std::move(entries));
}

int64_t TuColumns::column_of(int64_t row, size_t l) const {
  return label_columns_[l] +
         (labels_.data<int64_t>()[row * labels_.size(1) + static_cast<int64_t>(l)] - least_[l]);
}

}  // namespace adj
