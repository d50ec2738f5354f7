#pragma once

#include <adjoint/data/hdf5_file.h>

#include <optional>

namespace adj {

/// A float32 matrix [N, F] that stays in its HDF5 file: features of a dataset larger than memory. Rows are
/// read when they are asked for; what was read lately is in memory as far as the system has room for it. A
/// cheap handle; threads may read at once. The file is not to change meanwhile.
class FileRows {
 public:
  FileRows() = default;
  /// Reads everything once, some rows at a time, to know that all is finite. Throws DataError where the
  /// dataset is missing, of another shape or type, not finite (naming the place), or stored so that rows
  /// cannot be read one by one (compressed, chunked).
  static FileRows open(const std::string& file, const std::string& dataset = "nodes/x");

  explicit operator bool() const { return file_.has_value(); }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// "features.h5: nodes/x".
  std::string str() const;
  /// float32 [K, F] on the CPU: row k is row index[k]; `index` int32 [K] on the CPU, repeats allowed. Throws
  /// for an index out of range, naming its position; DataError where the file cannot be read.
  Tensor gather(const Tensor& index) const;

 private:
  std::optional<H5Reader> file_;
  std::string dataset_;
  int64_t rows_ = 0, cols_ = 0;
};

}  // namespace adj
