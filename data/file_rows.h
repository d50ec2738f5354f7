#pragma once

#include <adjoint/data/hdf5_file.h>

#include <functional>
#include <optional>

namespace adj {

/// A float32 matrix [N, F] that stays in its HDF5 file: features of a dataset larger than memory. Rows are
/// read when they are asked for; what was read lately is in memory as far as the system has room for it. A
/// cheap handle; threads may read at once. A file that is removed or replaced meanwhile goes on as it was;
/// one that is written to or cut off is a DataError at the next rows.
class FileRows {
 public:
  FileRows() = default;
  /// Reads everything once, some rows at a time, to know that all is finite. Throws DataError where the
  /// dataset is missing, of another shape or type, not finite (naming the place), or stored so that rows
  /// cannot be read one by one (compressed, chunked).
  static FileRows open(const std::string& file, const std::string& dataset = "nodes/x");

  /// The same rows, each divided by its sum as it is read, with the bits of Features::row_normalized(): a row
  /// whose sum is 0 stays as it is. One whose quotients overflow is not finite; nothing is read to find that.
  FileRows row_normalized() const;
  /// The same rows, each batch of them as change() makes it of [K, F] as it is read; of any thread.
  FileRows mapped(std::function<Tensor(const Tensor& rows)> change) const;

  explicit operator bool() const { return file_.has_value(); }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// "features.h5: nodes/x".
  std::string str() const;
  /// float32 [K, F] on the CPU: row k is row index[k]; `index` int32 [K] on the CPU, repeats allowed. Throws
  /// for an index out of range, naming its position; DataError where the file cannot be read.
  Tensor gather(const Tensor& index) const;
  /// Calls f(first, rows) with all rows in their order, `rows` float32 [k, F] on the CPU, some megabytes at a
  /// time: an even number of them, but for the last. Throws DataError where the file cannot be read.
  void for_blocks(const std::function<void(int64_t first, const Tensor& rows)>& f) const;

 private:
  std::optional<H5Reader> file_;
  std::string dataset_;
  int64_t rows_ = 0, cols_ = 0;
  std::function<Tensor(const Tensor&)> change_;  // optional
};

}  // namespace adj
