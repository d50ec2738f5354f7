#pragma once

#include <adjoint/graph/features.h>

#include <string>
#include <vector>

namespace adj {

/// The columns of nodes or edges that a TU dataset has: numbers, then labels as columns of 0 and 1, of which
/// there may be many.
class TuColumns {
 public:
  explicit TuColumns(int64_t rows) : rows_(rows) {}

  /// float32 [rows, *].
  void add_values(const Tensor& values) {
    values_ = values;
    width_ += values.size(1);
  }
  /// int64 [rows, *]. Throws DataError, naming `path`, where they make more columns than
  /// their number allows.
  void add_one_hot(const Tensor& labels, const std::string& path);

  int64_t width() const { return width_; }
  /// float32 [rows, width()]. Throws DataError where that is more than a dense one may have.
  Tensor dense() const;
  /// Row k of the result is row order[k] (int32 [rows]; absent: k). Sparse where they are many.
  Features features(const Tensor& order) const;

 private:
  SparseMatrix sparse(const Tensor& order) const;
  Tensor dense(const Tensor& order) const;
  /// In which the label column l of a row has its 1.
  int64_t column_of(int64_t row, size_t l) const;
  int64_t values_width() const { return values_ ? values_.size(1) : 0; }

  int64_t rows_, width_ = 0;
  Tensor values_;               // float32 [rows, *]
  Tensor labels_;               // int64 [rows, L]
  std::vector<int64_t> least_;  // of each of its columns,
  std::vector<int64_t> at_;     // and the column in which that stands
  std::string path_;
};

}  // namespace adj
