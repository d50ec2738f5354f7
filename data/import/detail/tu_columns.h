#pragma once

#include <adjoint/graph/features.h>

#include <string>
#include <vector>

namespace adj {

/// Node or edge feature columns of a TU dataset: numbers, then one-hot labels, possibly many.
class TuColumns {
 public:
  explicit TuColumns(int64_t rows) : rows_(rows) {}

  /// float32 [rows, *].
  void add_values(const Tensor& values) {
    values_ = values;
    width_ += values.size(1);
  }
  /// int64 [rows, *]. Throws DataError, naming `path`, if they would make too many columns.
  void add_one_hot(const Tensor& labels, const std::string& path);

  int64_t width() const { return width_; }
  /// float32 [rows, width()]. Throws DataError if too large for a dense matrix.
  Tensor dense() const;
  /// Row k of the result is row order[k] (int32 [rows]; absent: k). Sparse if there are many columns.
  Features features(const Tensor& order) const;

 private:
  SparseMatrix sparse(const Tensor& order) const;
  Tensor dense(const Tensor& order) const;
  /// Column of the 1 of label column l of a row.
  int64_t column_of(int64_t row, size_t l) const;
  int64_t values_width() const { return values_ ? values_.size(1) : 0; }

  int64_t rows_, width_ = 0;
  Tensor values_;                       // float32 [rows, *]
  Tensor labels_;                       // int64 [rows, L]
  std::vector<int64_t> least_;          // minimum of each of its columns,
  std::vector<int64_t> label_columns_;  // and the one-hot column of that minimum
  std::string path_;
};

}  // namespace adj
